// What is refused before any backend touches state, and by which sentence.
#include <catch2/catch.hpp>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backend/argmax.h"
#include "backend/step_batch_check.h"

using namespace takt;

namespace {

// Two sequences of 2 and 1 rows, a full and a window group, pages of 4 positions.
struct Batch {
    Program program;
    CompileOptions options;
    std::vector<int32_t> tokens = {1, 2, 3};
    std::vector<OutputWanted> wanted = {OutputWanted::none, OutputWanted::logits, OutputWanted::argmax};
    std::vector<uint32_t> full = {0, 1, 2}, window = {kNoPage, 1, 2};
    std::vector<BlockTable> tables;
    std::vector<BatchSequence> sequences;

    Batch() {
        program.vocab_size = 10;
        program.groups = {{"full", 0}, {"window", 4}};
        options.max_rows = 4;
        options.max_output_rows = 2;
        options.max_sequences = 2;
        options.max_context_tokens = 16;
        options.page_tokens = 4;
        options.n_pages = {3, 3};
        sequences = {{7, 0, 2, 8, {}}, {8, 2, 1, 7, {}}};
    }
    Status check() {
        tables = {BlockTable(full), BlockTable(window)};
        for (BatchSequence& sequence : sequences) {
            if (sequence.block_tables.empty()) sequence.block_tables = tables;
        }
        return check_step_batch(program, options, {tokens, wanted, sequences});
    }
};

struct Broken {
    const char* message;
    std::function<void(Batch&)> change;
};

}  // namespace

TEST_CASE("A sound batch passes") {
    CHECK(Batch().check().message() == "");
}

TEST_CASE("The first wrong row, sequence or page is named") {
    const Broken cases[] = {
        {"The step batch has no rows.", [](Batch& b) { b.tokens.clear(); }},
        {"The step batch has 5 rows, the executable takes 4.", [](Batch& b) { b.tokens.resize(5); }},
        {"The step batch has 3 tokens but 2 wanted outputs.", [](Batch& b) { b.wanted.resize(2); }},
        {"Row 1 holds token 10, the vocabulary has 10.", [](Batch& b) { b.tokens[1] = 10; }},
        {"Row 2 holds token -1, the vocabulary has 10.", [](Batch& b) { b.tokens[2] = -1; }},
        {"The step batch wants outputs of 3 rows, the executable gives 2.",
         [](Batch& b) { b.wanted[0] = OutputWanted::hidden; }},
        {"The step batch has 2 sequences, the executable takes 1.",
         [](Batch& b) { b.options.max_sequences = 1; }},
        {"Sequence 7 is in the step batch twice.", [](Batch& b) { b.sequences[1].sequence = 7; }},
        {"Sequence 8 starts at row 1, row 2 comes next.", [](Batch& b) { b.sequences[1].first_row = 1; }},
        {"Sequence 8 has no rows.", [](Batch& b) { b.sequences[1].n_rows = 0; }},
        {"The sequences hold 2 rows, the step batch has 3.", [](Batch& b) { b.sequences.pop_back(); }},
        {"The sequences hold 4 rows, the step batch has 3.", [](Batch& b) { b.sequences[1].n_rows = 2; }},
        {"Sequence 7 reaches position 16, the context holds 16.",
         [](Batch& b) { b.sequences[0].first_position = 15; }},
        {"Sequence 7 reaches position 4294967296, the context holds 16.",
         [](Batch& b) { b.sequences[0].first_position = ~0u; }},
        {"Sequence 7: the block table of group full has 2 pages of 4, position 9 needs 3.",
         [](Batch& b) { b.full.pop_back(); }},
        {"Sequence 7: entry 1 of the block table of group full is page 3, the group has 3.",
         [](Batch& b) { b.full[1] = 3; }},
        {"Sequence 7: entry 1 of the block table of group window is page 4294967295, the group has 3.",
         [](Batch& b) { b.window[1] = kNoPage; }},
        {"Sequence 7 has 1 block tables, the program has 2 state groups.",
         [](Batch& b) {
             static const BlockTable one;
             b.sequences[0].block_tables = {&one, 1};
         }},
    };
    for (const Broken& broken : cases) {
        Batch batch;
        broken.change(batch);
        const Status status = batch.check();
        CHECK(status.message() == broken.message);
        CHECK(status.code() == StatusCode::invalid_argument);
    }
}

TEST_CASE("Compile options out of range are named") {
    Batch batch;
    CHECK(check_compile_options(batch.program, batch.options).ok());
    batch.options.n_pages = {3};
    CHECK(check_compile_options(batch.program, batch.options).message() ==
          "Page counts are given for 1 state groups, the program has 2.");
    batch.options.n_pages = {3, 0};
    CHECK(check_compile_options(batch.program, batch.options).message() ==
          "Compile option n_pages is 0, must be 1 to 268435456.");
    batch.options.page_tokens = 0;
    CHECK(check_compile_options(batch.program, batch.options).message() ==
          "Compile option page_tokens is 0, must be 1 to 4096.");
    batch.options.max_rows = ~0u;
    CHECK_FALSE(check_compile_options(batch.program, batch.options).ok());
}

TEST_CASE("The lowest id wins a tie, and logits that aren't finite have no best") {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(argmax_row(std::vector<float>{1, 3, 2, 3}) == 1);
    CHECK(argmax_row(std::vector<float>{-5}) == 0);
    CHECK(argmax_row(std::vector<float>{0, 0, 0}) == 0);
    CHECK(argmax_row(std::vector<float>{nan, 1}) == -1);
    CHECK(argmax_row(std::vector<float>{1, nan}) == -1);
    CHECK(argmax_row(std::vector<float>{1, inf}) == -1);
    CHECK(argmax_row(std::vector<float>{1, -inf}) == -1);
    CHECK(argmax_row({}) == -1);
}
