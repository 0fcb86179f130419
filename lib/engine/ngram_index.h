// Where a text has said the same before: what followed then is a guess at what follows now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace takt {

// One per request. Everything is sized when made.
class NgramIndex {
public:
    // max_tokens: prompt and generated tokens together, at most.
    explicit NgramIndex(size_t max_tokens);

    // text: all tokens so far, which only grow until clear(). Fills out with what followed the longest
    // earlier occurrence of the text's end, the latest of equal ones; returns how many. 0: its last two
    // tokens are new. A guess that reaches the text's end goes on with itself, so that what repeats is
    // guessed whole.
    uint32_t propose(std::span<const int32_t> text, std::span<int32_t> out);
    void clear();

private:
    static constexpr uint32_t kNone = ~0u;
    uint32_t& bucket_of(int32_t first, int32_t second);
    void index(std::span<const int32_t> text);

    std::vector<uint32_t> latest_;  // by a hash of two tokens: where the second of them stands
    std::vector<uint32_t> before_;  // per token: the place before it in the same bucket
    uint32_t n_indexed_ = 1;        // second tokens that are in the index: all before this place
};

}  // namespace takt
