// A list, because most files name one EOS although their models end turns and documents with different
// tokens.
#include "tokenizer/end_of_generation.h"

#include <algorithm>
#include <iterator>

namespace takt {
namespace {

constexpr std::string_view kEndTexts[] = {
    // GPT-2, Qwen, SmolLM, Phi
    "<|endoftext|>", "<|im_end|>",
    // Qwen Coder: the end of an infill
    "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
    // Llama 3, Granite; Llama 4
    "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>",
    // Gemma
    "<end_of_turn>", "<eos>", "<turn|>",
    // Llama 2, Mistral; Phi 3; OpenChat
    "</s>", "<|end|>", "<|end_of_turn|>",
    // gpt-oss
    "<|return|>", "<|call|>",
    // Code Llama; SmolVLM; Command R; HyperCLOVA
    "<EOT>", "_<EOT>", "<end_of_utterance>", "<|END_OF_TURN_TOKEN|>", "<|endofturn|>",
    // DeepSeek
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>"};

}  // namespace

bool ends_generation(std::string_view token_text) {
    return std::find(std::begin(kEndTexts), std::end(kEndTexts), token_text) != std::end(kEndTexts);
}

}  // namespace takt
