// First a step that reads what is new in each text and gives the first guess, then a step for each further
// one.
#include "engine/draft_model.h"

#include <algorithm>

#include <fmt/format.h>

namespace takt {

DraftModel::DraftModel(Runtime& runtime, std::shared_ptr<const Model> model,
                       std::unique_ptr<Executable> executable, const CompileOptions& compile,
                       bool prefix_reuse)
    : runtime_(runtime),
      model_(std::move(model)),
      executable_(std::move(executable)),
      compile_(compile),
      prefix_reuse_(prefix_reuse),
      step_(compile.max_rows, compile.max_sequences) {
    for (const uint32_t n_pages : compile_.n_pages) pools_.emplace_back(n_pages, compile_.page_tokens);
}

std::unique_ptr<DraftSequence> DraftModel::new_sequence(uint64_t name, uint32_t max_total) {
    auto sequence = std::make_unique<DraftSequence>();
    sequence->name = name;
    sequence->pages =
        std::make_unique<SequencePages>(model_->program()->groups, pools_, compile_.page_tokens,
                                        std::min(max_total, compile_.max_context_tokens), compile_.max_rows);
    return sequence;
}

// Vocabularies that are padded differently hold ids that the other one lacks.
bool DraftModel::knows(std::span<const int32_t> tokens) const {
    const auto vocab_size = static_cast<int32_t>(model_->program()->vocab_size);
    return std::ranges::all_of(tokens, [&](int32_t id) { return id < vocab_size; });
}

// True if rows were added.
bool DraftModel::add_unread(Job& job, uint32_t& budget) {
    RunningRequest& request = *job.request;
    DraftSequence& sequence = *request.drafts->sequence;
    const std::span<const int32_t> tokens = request.tokens;
    job.n_rows = 0;
    if (tokens.size() > compile_.max_context_tokens) return false;
    if (sequence.n_computed == 0 && prefix_reuse_ && sequence.pages->n_reachable() == 0)
        sequence.n_computed = sequence.pages->reuse(tokens);
    const auto n_unread = static_cast<uint32_t>(tokens.size()) - sequence.n_computed;
    const uint32_t n_rows = std::min(n_unread, budget);
    const std::span<const int32_t> rows = tokens.subspan(sequence.n_computed, n_rows);
    if (n_rows == 0 || !knows(rows)) return false;
    if (!sequence.pages->cover(sequence.n_computed, sequence.n_computed + n_rows)) {
        request.drafts->rest(tokens.size());
        return false;
    }
    OutputWanted wanted = OutputWanted::none;
    if (n_rows == n_unread && job.n_wanted > 0) wanted = request.wanted();
    step_.add(sequence.name, *sequence.pages, rows, sequence.n_computed, wanted);
    if (wanted == OutputWanted::none) job.n_wanted = 0;
    job.n_rows = n_rows;
    budget -= n_rows;
    return true;
}

void DraftModel::add_last_draft(Job& job) {
    RunningRequest& request = *job.request;
    DraftSequence& sequence = *request.drafts->sequence;
    const std::span<const int32_t> row = std::span<const int32_t>(request.drafts->ids).last(1);
    if (sequence.n_computed >= compile_.max_context_tokens || !knows(row)) return;
    if (!sequence.pages->cover(sequence.n_computed, sequence.n_computed + 1)) return;
    step_.add(sequence.name, *sequence.pages, row, sequence.n_computed, request.wanted());
    job.n_rows = 1;
}

// A guess is what the request would draw from the draft model's logits, with the number of that position.
void DraftModel::take_guess(const Job& job, const StepOutput& output, size_t place, SamplerScratch& scratch) {
    RunningRequest& request = *job.request;
    std::vector<int32_t>& ids = request.drafts->ids;
    if (request.greedy) {
        if (output.argmax[place] >= 0) ids.push_back(output.argmax[place]);
        return;
    }
    const size_t vocab_size = model_->program()->vocab_size;
    if (vocab_size != scratch.vocab_size()) return;
    const size_t n_tokens = request.tokens.size();
    request.tokens.insert(request.tokens.end(), ids.begin(), ids.end());  // there is room for all drafts
    const std::span<const float> logits = output.logits.subspan(place * vocab_size, vocab_size);
    const Result<int32_t> id = request.sampler.sample(logits, request.tokens, request.n_tokens(), scratch);
    Status told;
    if (id.ok() && request.drafts->by_rejection()) {
        told =
            request.sampler.probabilities(logits, request.tokens, scratch, request.drafts->row(ids.size()));
    }
    request.tokens.resize(n_tokens);
    if (id.ok() && told.ok()) ids.push_back(*id);
}

Status DraftModel::run(std::span<Job> jobs, bool is_reading, SamplerScratch& scratch) {
    const Runtime::StepTurn turn(runtime_, step_.n_rows());
    const uint64_t begin_ns = runtime_.clock().now_ns();
    const Result<StepOutput> output = executable_->run(step_.batch());
    if (!output.ok()) return output.status();
    const uint64_t ns = runtime_.clock().now_ns() - begin_ns;
    costs_.record(step_.n_rows(), ns);
    last_ns_ += ns;
    size_t place = 0;
    for (Job& job : jobs) {
        if (job.n_rows == 0) continue;
        DraftSequence& sequence = *job.request->drafts->sequence;
        TAKT_RETURN_IF_ERROR(executable_->commit(sequence.name, job.n_rows));
        sequence.n_computed += job.n_rows;
        if (job.n_wanted > job.request->drafts->ids.size()) take_guess(job, *output, place++, scratch);
        if (prefix_reuse_ && is_reading) sequence.pages->publish(job.request->tokens, sequence.n_computed);
    }
    return {};
}

Status DraftModel::propose(std::span<Job> jobs, uint32_t max_read, SamplerScratch& scratch) {
    last_ns_ = 0;
    step_.clear();
    uint32_t budget = std::min(max_read, compile_.max_rows);
    for (Job& job : jobs) {
        if (!add_unread(job, budget)) job.n_wanted = 0;
    }
    bool is_reading = true;
    size_t n_drafts = 1;
    while (!step_.empty()) {
        TAKT_RETURN_IF_ERROR(run(jobs, is_reading, scratch));
        is_reading = false;
        step_.clear();
        for (Job& job : jobs) {
            job.n_rows = 0;
            const size_t n_have = job.request->drafts->ids.size();
            if (n_have < n_drafts || n_have >= job.n_wanted) continue;
            add_last_draft(job);
        }
        ++n_drafts;
    }
    return {};
}

Status check_same_vocabulary(const Model& model, const Model& draft) {
    const Tokenizer &own = *model.tokenizer(), &other = *draft.tokenizer();
    if (own.vocab_size() != other.vocab_size()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("The draft model's vocabulary has {} tokens, the model's {}.",
                                  other.vocab_size(), own.vocab_size()));
    }
    for (int32_t id = 0; id < static_cast<int32_t>(own.vocab_size()); ++id) {
        if (own.token_text(id) == other.token_text(id)) continue;
        return Status(StatusCode::invalid_argument,
                      fmt::format("Token {} is \"{}\" in the draft model and \"{}\" in the model.", id,
                                  other.token_text(id), own.token_text(id)));
    }
    return {};
}

}  // namespace takt
