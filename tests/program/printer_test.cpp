// The text of a small program, whole.
#include <catch2/catch.hpp>

#include "program/printer.h"
#include "small_program.h"

using namespace takt;

TEST_CASE("A program prints as one line a declaration and one line an op") {
    CHECK(print_program(*test::small_program()) ==
          "program small, vocabulary 10\n"
          "weight table f32 [10, 8]\n"
          "weight norm f32 [1, 8]\n"
          "weight w_q f16 [8, 8]\n"
          "weight b_q f32 [1, 8]\n"
          "group full, every position\n"
          "state kv in full, 2 heads, keys 4, values 4\n"
          "x [tokens, 8] = embed table\n"
          "normed [tokens, 8] = rms_norm x, norm, epsilon 1e-05\n"
          "q [tokens, 8] = matmul normed, w_q, bias b_q\n"
          "k [tokens, 8] = rope normed, neox 4 of 4, base 10000, scale 1\n"
          "kv_append kv, keys k, values normed\n"
          "q_rope [tokens, 8] = rope q, neox 4 of 4, base 10000, scale 1\n"
          "attended [tokens, 8] = attention q_rope, kv, 2 heads, scale 0.5\n"
          "gated [tokens, 8] = gated_activation attended, x, silu\n"
          "scaled [tokens, 8] = scale gated, factor 2\n"
          "sum [tokens, 8] = add x, scaled\n"
          "hidden [outputs, 8] = select_rows sum\n"
          "head [outputs, 10] = matmul hidden, table\n"
          "logits [outputs, 10] = soft_cap head, cap 30\n"
          "hidden hidden\n"
          "logits logits\n");
}
