// The automaton of special_matcher.h: built breadth first, run once from the text's end.
#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace takt {

uint32_t SpecialMatcher::child(uint32_t node, uint8_t byte) const {
    if (node == 0) return root_children_[byte];
    const auto found = children_.find(static_cast<uint64_t>(node) << 8 | byte);
    return found == children_.end() ? 0 : found->second;
}

void SpecialMatcher::add(std::string_view text, int32_t id) {
    if (text.empty()) return;
    uint32_t node = 0;
    for (auto at = text.rbegin(); at != text.rend(); ++at) {
        const auto byte = static_cast<uint8_t>(*at);
        uint32_t next = child(node, byte);
        if (next == 0) {
            next = static_cast<uint32_t>(nodes_.size());
            nodes_.push_back({});
            nodes_.back().depth = nodes_[node].depth + 1;
            if (node == 0) {
                root_children_[byte] = next;
            } else {
                children_.emplace(static_cast<uint64_t>(node) << 8 | byte, next);
            }
        }
        node = next;
    }
    if (nodes_[node].match_id < 0) {
        nodes_[node].match_id = id;
        nodes_[node].match_size = nodes_[node].depth;
    }
}

void SpecialMatcher::build() {
    struct Edge {
        uint32_t parent;
        uint32_t node;
        uint8_t byte;
    };
    std::vector<Edge> edges;
    edges.reserve(children_.size());
    for (const auto& [key, node] : children_)
        edges.push_back({static_cast<uint32_t>(key >> 8), node, static_cast<uint8_t>(key)});
    // Shallow nodes first: a failure link always leads to a shallower node.
    std::sort(edges.begin(), edges.end(),
              [this](const Edge& a, const Edge& b) { return nodes_[a.node].depth < nodes_[b.node].depth; });
    for (const Edge& edge : edges) {
        uint32_t fail = nodes_[edge.parent].fail;
        uint32_t target = child(fail, edge.byte);
        while (target == 0 && fail != 0) {
            fail = nodes_[fail].fail;
            target = child(fail, edge.byte);
        }
        Node& node = nodes_[edge.node];
        node.fail = target;
        if (node.match_id < 0) {
            node.match_id = nodes_[target].match_id;
            node.match_size = nodes_[target].match_size;
        }
    }
}

std::vector<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text) const {
    std::vector<Match> all;  // the longest token at each place that has one, from the end
    if (nodes_.size() == 1) return all;
    uint32_t node = 0;
    for (size_t pos = text.size(); pos-- > 0;) {
        const auto byte = static_cast<uint8_t>(text[pos]);
        uint32_t next = child(node, byte);
        while (next == 0 && node != 0) {
            node = nodes_[node].fail;
            next = child(node, byte);
        }
        node = next;
        if (nodes_[node].match_id >= 0) all.push_back({pos, nodes_[node].match_size, nodes_[node].match_id});
    }
    std::vector<Match> taken;
    size_t free_from = 0;
    for (auto match = all.rbegin(); match != all.rend(); ++match) {
        if (match->begin < free_from) continue;
        taken.push_back(*match);
        free_from = match->begin + match->size;
    }
    return taken;
}

}  // namespace takt
