// Feeds token lists through an Executable with page tables of its own, as an engine would but without one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "program/program.h"

namespace takt::test {

// Pages for n_sequences full contexts in every group.
inline CompileOptions compile_options(const Program& program, uint32_t max_rows, uint32_t context_tokens,
                                      uint32_t n_sequences = 1, uint32_t page_tokens = 16) {
    CompileOptions options;
    options.max_rows = options.max_output_rows = max_rows;
    options.max_sequences = n_sequences;
    options.max_context_tokens = context_tokens;
    options.page_tokens = page_tokens;
    options.n_pages.assign(program.groups.size(),
                           n_sequences * ((context_tokens + page_tokens - 1) / page_tokens));
    return options;
}

class StepDriver {
public:
    struct Chunk {
        uint64_t sequence = 0;
        std::span<const int32_t> tokens;
        OutputWanted wanted = OutputWanted::logits;  // of every row
    };

    StepDriver(const Program& program, Executable& executable, const CompileOptions& options)
        : program_(program), executable_(executable), page_tokens_(options.page_tokens) {
        std::mt19937 random(7);
        for (uint32_t n_pages : options.n_pages) {
            std::vector<uint32_t>& pages = free_pages_.emplace_back(n_pages);
            for (uint32_t i = 0; i < n_pages; ++i) pages[i] = i;
            std::shuffle(pages.begin(), pages.end(),
                         random);  // neighbours in a table are no neighbours in memory
        }
    }

    // One step over chunks of different sequences, all rows committed but the last n_undone of each. The
    // output is borrowed until the next step.
    Result<StepOutput> step(std::span<const Chunk> chunks, uint32_t n_undone = 0) {
        std::vector<int32_t> tokens;
        std::vector<OutputWanted> wanted;
        std::vector<BatchSequence> sequences;
        std::vector<std::vector<BlockTable>> tables;
        for (const Chunk& chunk : chunks) {
            Sequence& sequence = reach(chunk.sequence, static_cast<uint32_t>(chunk.tokens.size()));
            tables.emplace_back(sequence.tables.begin(), sequence.tables.end());
            sequences.push_back({chunk.sequence,
                                 static_cast<uint32_t>(tokens.size()),
                                 static_cast<uint32_t>(chunk.tokens.size()),
                                 sequence.n_tokens,
                                 {}});
            tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
            wanted.insert(wanted.end(), chunk.tokens.size(), chunk.wanted);
        }
        for (size_t i = 0; i < sequences.size(); ++i) sequences[i].block_tables = tables[i];
        Result<StepOutput> output = executable_.run({tokens, wanted, sequences});
        if (!output.ok()) return output;
        for (const BatchSequence& sequence : sequences) {
            TAKT_RETURN_IF_ERROR(executable_.commit(sequence.sequence, sequence.n_rows - n_undone));
            advance(sequences_[sequence.sequence], sequence.n_rows - n_undone);
        }
        return output;
    }

    // Logits of every token, [tokens.size()][vocab_size], fed chunk by chunk.
    Result<std::vector<float>> logits(uint64_t sequence, std::span<const int32_t> tokens,
                                      size_t chunk_tokens) {
        std::vector<float> all;
        for (size_t start = 0; start < tokens.size(); start += chunk_tokens) {
            const Chunk chunk{sequence, tokens.subspan(start, std::min(chunk_tokens, tokens.size() - start)),
                              OutputWanted::logits};
            Result<StepOutput> output = step({&chunk, 1});
            if (!output.ok()) return output.status();
            all.insert(all.end(), output->logits.begin(), output->logits.end());
        }
        return all;
    }

    // Of a sequence, one a group.
    std::vector<BlockTable> tables(uint64_t id) {
        return {sequences_[id].tables.begin(), sequences_[id].tables.end()};
    }

    // Pages for a new sequence whose first n_tokens were computed elsewhere; it goes on behind them.
    std::vector<BlockTable> receive(uint64_t id, uint32_t n_tokens) {
        advance(reach(id, n_tokens), n_tokens);
        return tables(id);
    }

    // Gives all pages of a sequence back and forgets it.
    void release(uint64_t id) {
        if (!sequences_.contains(id)) return;
        for (size_t g = 0; g < free_pages_.size(); ++g) {
            for (uint32_t page : sequences_[id].tables[g]) {
                if (page != kNoPage) free_pages_[g].push_back(page);
            }
        }
        sequences_.erase(id);
    }

private:
    struct Sequence {
        uint32_t n_tokens = 0;
        std::vector<std::vector<uint32_t>> tables;  // per group
    };

    Sequence& reach(uint64_t id, uint32_t n_more) {
        Sequence& sequence = sequences_[id];
        sequence.tables.resize(free_pages_.size());
        for (size_t g = 0; g < free_pages_.size(); ++g) {
            const bool recurrent = program_.groups[g].recurrent;
            const uint32_t n_wanted = recurrent ? 1 : sequence.n_tokens + n_more;
            while (sequence.tables[g].size() * (recurrent ? 1 : page_tokens_) < n_wanted) {
                const bool empty =
                    free_pages_[g].empty();  // then the backend refuses the table, and the test sees why
                sequence.tables[g].push_back(empty ? kNoPage : free_pages_[g].back());
                if (!empty) free_pages_[g].pop_back();
            }
        }
        return sequence;
    }

    // Pages that fell out of a window serve again at once.
    void advance(Sequence& sequence, uint32_t n_rows) {
        sequence.n_tokens += n_rows;
        for (size_t g = 0; g < free_pages_.size(); ++g) {
            const uint32_t window = program_.groups[g].window;
            if (window == 0 || sequence.n_tokens + 1 < window) continue;
            const uint32_t n_gone = (sequence.n_tokens + 1 - window) / page_tokens_;
            for (uint32_t i = 0; i < n_gone; ++i) {
                if (sequence.tables[g][i] == kNoPage) continue;
                free_pages_[g].push_back(sequence.tables[g][i]);
                sequence.tables[g][i] = kNoPage;
            }
        }
    }

    const Program& program_;
    Executable& executable_;
    uint32_t page_tokens_;
    std::vector<std::vector<uint32_t>> free_pages_;  // per group
    std::map<uint64_t, Sequence> sequences_;
};

}  // namespace takt::test
