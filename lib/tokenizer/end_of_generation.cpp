// A list, because most files name only one EOS although their models end turns and documents with different tokens.
#include "tokenizer/end_of_generation.h"

#include <algorithm>
#include <iterator>

namespace takt {
namespace {

constexpr std::string_view kEndTexts[] = {
    "<|endoftext|>",     "<|im_end|>",                                       // GPT-2, Qwen, SmolLM, Phi
    "<|fim_pad|>",       "<|repo_name|>",       "<|file_sep|>",              // Qwen Coder: the end of an infill
    "<|eot_id|>",        "<|eom_id|>",          "<|end_of_text|>",           // Llama 3, Granite
    "<|eot|>",           "<|eom|>",                                          // Llama 4
    "<end_of_turn>",     "<eos>",               "<turn|>",                   // Gemma
    "</s>",              "<|end|>",             "<|end_of_turn|>",           // Llama 2, Mistral, Phi 3, OpenChat
    "<|return|>",        "<|call|>",                                         // gpt-oss
    "<EOT>",             "_<EOT>",              "<end_of_utterance>",        // Code Llama, SmolVLM
    "<|END_OF_TURN_TOKEN|>", "<|endofturn|>",                                // Command R, HyperCLOVA
    "<\xEF\xBD\x9C" "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",    // DeepSeek
};

}  // namespace

bool ends_generation(std::string_view token_text) {
    return std::find(std::begin(kEndTexts), std::end(kEndTexts), token_text) != std::end(kEndTexts);
}

}  // namespace takt
