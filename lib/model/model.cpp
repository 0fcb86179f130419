// Loads everything of a model file but the weights, whose places it keeps.
#include "model/model.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "base/clock.h"
#include "model/families/families.h"

namespace takt {
namespace {

constexpr size_t kMaxWarnings = 8;

// The layer a tensor's name puts it in ("blk.12.…"), if it does.
std::optional<uint64_t> layer_of(std::string_view tensor) {
    constexpr std::string_view kPrefix = "blk.";
    if (!tensor.starts_with(kPrefix)) return std::nullopt;
    uint64_t layer = 0;
    const char* begin = tensor.data() + kPrefix.size();
    const char* end = tensor.data() + tensor.size();
    const std::from_chars_result parsed = std::from_chars(begin, end, layer);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '.') return std::nullopt;
    return layer;
}

// A layer that block_count leaves out would be a silently different model; any other unknown tensor only
// warns.
Status check_extra_tensors(const GgufFile& file, const ModelConfig& config, const Program& program,
                           const Logger& logger) {
    std::set<std::string_view> used;
    for (const WeightDecl& weight : program.weights) used.insert(weight.name);
    size_t n_unused = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        if (used.contains(tensor.name)) continue;
        if (const std::optional<uint64_t> layer = layer_of(tensor.name); layer && *layer >= config.n_layers) {
            return Status(StatusCode::model_invalid,
                          fmt::format("Tensor {} belongs to layer {}, {}.block_count is {}.", tensor.name,
                                      *layer, config.family, config.n_layers));
        }
        if (++n_unused <= kMaxWarnings) {
            logger.log(LogLevel::warning, fmt::format("Tensor {} is not part of a {} model and is ignored.",
                                                      tensor.name, config.family));
        }
    }
    if (n_unused > kMaxWarnings)
        logger.log(LogLevel::warning, fmt::format("{} more tensors are ignored.", n_unused - kMaxWarnings));
    return {};
}

struct TemplateResult {
    std::shared_ptr<const ChatTemplate> chat_template;
    Status status;
};

// A template of the wrong type is a broken file; one that doesn't parse only costs the model its chat.
Result<TemplateResult> read_template(const GgufFile& file, const Logger& logger) {
    const Result<std::optional<std::string_view>> text = file.get_string("tokenizer.chat_template");
    if (!text.ok()) return text.status();
    if (!*text) {
        return TemplateResult{
            nullptr,
            Status(StatusCode::template_missing,
                   "The file has no chat template (tokenizer.chat_template); give the prompt as raw text.")};
    }
    Result<std::shared_ptr<const ChatTemplate>> parsed = ChatTemplate::parse(**text);
    if (parsed.ok()) return TemplateResult{*parsed, {}};
    logger.log(LogLevel::warning,
               fmt::format("The file's chat template can't be used: {}", parsed.status().message()));
    return TemplateResult{nullptr, parsed.status()};
}

// Unique without a process-wide counter: no two models share a place at the same nanosecond.
uint64_t make_instance(const void* place) {
    uint64_t mixed = SteadyClock().now_ns() * 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9ull;
    return mixed ^ (mixed >> 29) ^ reinterpret_cast<uintptr_t>(place);
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const ByteSource> source,
                                                 const Logger& logger, BuildProgram build) {
    Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(std::move(source));
    if (!file.ok()) return file.status();
    std::shared_ptr<Model> model(new Model());
    model->file_ = std::move(*file);
    const Status status = model->read_file(logger, build);
    if (!status.ok()) return status.with_context(model->file_->source().name());
    model->instance_ = make_instance(model.get());
    return std::shared_ptr<const Model>(std::move(model));
}

Status Model::read_file(const Logger& logger, BuildProgram build) {
    Result<ModelConfig> config = ModelConfig::read(*file_);
    if (!config.ok()) return config.status();
    config_ = std::move(*config);
    Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::create(*file_);
    if (!tokenizer.ok()) return tokenizer.status();
    tokenizer_ = std::move(*tokenizer);

    const Result<const Family*> family = find_family(config_.family);
    if (!family.ok()) return family.status();
    Result<Program> program = (build != nullptr ? build : (*family)->build)(config_, *file_);
    if (!program.ok()) return program.status();
    TAKT_RETURN_IF_ERROR(check_extra_tensors(*file_, config_, *program, logger));
    program_ = std::make_shared<const Program>(std::move(*program));

    Result<TemplateResult> chat = read_template(*file_, logger);
    if (!chat.ok()) return chat.status();
    chat_template_ = std::move(chat->chat_template);
    template_status_ = std::move(chat->status);
    return {};
}

Result<std::shared_ptr<const ChatTemplate>> Model::chat_template() const {
    if (chat_template_) return chat_template_;
    return template_status_;
}

uint64_t Model::weight_bytes() const {
    uint64_t total = 0;
    for (const WeightDecl& weight : program_->weights) total += file_bytes(weight);
    return total;
}

std::optional<SourceIdentity> Model::identity() const {
    const std::optional<int64_t> modified_ns = file_->modified_ns();
    if (!modified_ns) return std::nullopt;
    return SourceIdentity{file_->size_bytes(), *modified_ns};
}

Status Model::read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const {
    const GgufTensor* tensor = file_->find_tensor(weight);
    if (!tensor)
        return Status(StatusCode::not_found,
                      fmt::format("Tensor {} is not in {}.", weight, file_->source().name()));
    if (offset_bytes > tensor->size_bytes || out.size() > tensor->size_bytes - offset_bytes) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Tensor {} has {} bytes, {} at offset {} were asked for.", weight,
                                  tensor->size_bytes, out.size(), offset_bytes));
    }
    return file_->read(*tensor, offset_bytes, out).with_context(fmt::format("Reading tensor {}", weight));
}

}  // namespace takt
