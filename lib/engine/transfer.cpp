// A chunk between two steps, then a callback: neither waits for the other's whole.
#include "engine/transfer.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace takt {

// The request may go on, or go away: who shares a page keeps it as it is.
Status export_sequence(const RequestState& request, const StateLayout& layout, HeldPages& pages,
                       const WriteBytes& write, Transfer& transfer) {
    Worker& worker = pages.worker();
    const uint64_t n_cancels = worker.n_cancels();
    std::vector<int32_t> ids;
    SequenceTokens sequence;
    TAKT_RETURN_IF_ERROR(worker.between_steps(n_cancels, [&](Executable&) -> Status {
        const RunningRequest* found = worker.find(request);
        if (found == nullptr) {
            return Status(StatusCode::invalid_state,
                          "The request has ended, and what it had was not kept (keep_state).");
        }
        if (found->n_dropped > 0) {  // a state holds neither them nor the number of the next draw
            return Status(
                StatusCode::invalid_state,
                fmt::format("The request's context has slid: {} of its tokens are gone.", found->n_dropped));
        }
        ids = found->tokens;
        sequence.n_prompt = found->n_prompt;
        // The last token is left to compute: what its row can see must be there, and its outputs are wanted.
        const uint32_t n = std::min(found->n_computed, static_cast<uint32_t>(ids.size()) - 1);
        if (pages->share(*found->pages, n)) {
            sequence.n_computed = n;
        } else if (pages->is_recurrent()) {  // its state has gone on past what was told
            sequence.n_computed = pages->reuse(ids);
        }
        return {};
    }));
    sequence.ids = ids;
    transfer.n_tokens = static_cast<uint32_t>(ids.size());
    transfer.n_computed = sequence.n_computed;
    StateWriter writer(layout, write);
    TAKT_RETURN_IF_ERROR(writer.begin(sequence));
    while (!writer.done()) {
        TAKT_RETURN_IF_ERROR(worker.between_steps(
            n_cancels, [&](Executable& executable) { return writer.fill(executable, pages->tables()); }));
        TAKT_RETURN_IF_ERROR(writer.send());
    }
    return writer.finish();
}

Status receive_sequence(StateReader& reader, HeldPages& pages, uint64_t n_cancels) {
    Worker& worker = pages.worker();
    TAKT_RETURN_IF_ERROR(worker.between_steps(
        n_cancels, [&](Executable&) { return pages->take_for(reader.sequence().n_computed); }));
    while (!reader.done()) {
        TAKT_RETURN_IF_ERROR(reader.receive());
        TAKT_RETURN_IF_ERROR(worker.between_steps(
            n_cancels, [&](Executable& executable) { return reader.store(executable, pages->tables()); }));
    }
    return reader.finish();
}

}  // namespace takt
