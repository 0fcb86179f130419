// What engine_bench measures. Each prints its rows; a failure is an exception.
#pragma once

#include "measure.h"

namespace bench {

// 64 requests at once, one after another, and in static batches of 8; the waste of pages meanwhile.
void mixed_load(const Stack& stack);
// A prompt of 2,000 tokens beside four requests that decode, with chunks and without.
void joining_prompt(const Stack& stack);
// Time to the first token of a chat's second turn, with prefix reuse and without.
void second_turn(const Stack& stack);
// Prompt tokens that 20 requests with the same 1,000 tokens in front don't compute.
void shared_prompt(const Stack& stack);
// Code drafted by the second model of the stack; measured beside what its costs predict.
void draft_model(const Stack& stack);
// A function that is repeated with a small change, drafted from the text.
void ngram_rewrite(const Stack& stack);
// Text that nobody guesses, with drafts of both kinds.
void useless_drafts(const Stack& stack);

}  // namespace bench
