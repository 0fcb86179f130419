// Finds the special tokens written in a text: leftmost, then longest, in time linear in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace takt {

class SpecialMatcher {
public:
    struct Match {
        size_t begin;
        size_t size;
        int32_t id;
    };

    SpecialMatcher() { nodes_.push_back({}); }
    // All add() calls come before build(), build() before find(). Empty texts are ignored; of equal ones the
    // first counts.
    void add(std::string_view text, int32_t id);
    void build();
    std::vector<Match> find(std::string_view text) const;  // in the order of the text, never overlapping

private:
    struct Node {
        uint32_t fail = 0;        // the longest proper suffix of this node's bytes that is a node too
        uint32_t match_size = 0;  // the longest token that these bytes end with
        int32_t match_id = -1;
        uint32_t depth = 0;
    };

    uint32_t child(uint32_t node, uint8_t byte) const;

    // An Aho-Corasick automaton over the reversed texts: read from the text's end, it knows at every byte the
    // longest token that begins there. A forward automaton would have to re-read the text after each match.
    std::vector<Node> nodes_;
    std::unordered_map<uint64_t, uint32_t> children_;  // node << 8 | byte
    std::vector<uint32_t> root_children_ = std::vector<uint32_t>(256, 0);
};

}  // namespace takt
