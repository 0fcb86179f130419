// The metadata keys that takt reads. Those of a family stand behind its architecture's name, as in
// "llama.block_count".
#pragma once

#include <string_view>

namespace takt::gguf_keys {

constexpr std::string_view kArchitecture = "general.architecture";
constexpr std::string_view kType = "general.type";  // "model", "imatrix", …
constexpr std::string_view kAlignment = "general.alignment";
constexpr std::string_view kName = "general.name";
constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kQuantizationVersion = "general.quantization_version";
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitNumber = "split.no";  // from 0 on
constexpr std::string_view kSplitTensors = "split.tensors.count";

// After "<architecture>."
constexpr std::string_view kContextLength = "context_length";
constexpr std::string_view kEmbeddingLength = "embedding_length";
constexpr std::string_view kBlockCount = "block_count";
constexpr std::string_view kFeedForwardLength = "feed_forward_length";
constexpr std::string_view kVocabSize = "vocab_size";
constexpr std::string_view kExpertCount = "expert_count";
constexpr std::string_view kHeadCount = "attention.head_count";
constexpr std::string_view kHeadCountKv = "attention.head_count_kv";
constexpr std::string_view kKeyLength = "attention.key_length";
constexpr std::string_view kValueLength = "attention.value_length";
constexpr std::string_view kRmsEpsilon = "attention.layer_norm_rms_epsilon";
constexpr std::string_view kSlidingWindow = "attention.sliding_window";
constexpr std::string_view kRopeDimensionCount = "rope.dimension_count";
constexpr std::string_view kRopeFreqBase = "rope.freq_base";
constexpr std::string_view kRopeScalingType = "rope.scaling.type";
constexpr std::string_view kRopeScalingFactor = "rope.scaling.factor";

constexpr std::string_view kTokenizerModel = "tokenizer.ggml.model";
constexpr std::string_view kTokenizerPre = "tokenizer.ggml.pre";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kBosTokenId = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEosTokenId = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kUnknownTokenId = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view kPaddingTokenId = "tokenizer.ggml.padding_token_id";
constexpr std::string_view kAddBosToken = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosToken = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSpacePrefix = "tokenizer.ggml.add_space_prefix";
constexpr std::string_view kChatTemplate = "tokenizer.chat_template";

}  // namespace takt::gguf_keys
