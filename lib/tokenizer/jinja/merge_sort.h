// A stable sort that stays within its items whatever the comparison says: a template's values may contradict
// themselves (NaN). std::stable_sort of libstdc++ 12 uses what clang 19 calls deprecated.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace takt::jinja {

template <typename T, typename Less>
void merge_sort(std::vector<T>& items, Less less) {
    std::vector<T> merged;
    for (size_t width = 1; width < items.size(); width *= 2) {
        merged.clear();
        merged.reserve(items.size());
        for (size_t first = 0; first < items.size(); first += 2 * width) {
            const auto at = [&](size_t i) {
                return std::make_move_iterator(items.begin() +
                                               static_cast<std::ptrdiff_t>(std::min(i, items.size())));
            };
            // Of equals the earlier one goes first.
            std::merge(at(first), at(first + width), at(first + width), at(first + 2 * width),
                       std::back_inserter(merged), [&](const T& a, const T& b) { return less(a, b); });
        }
        items.swap(merged);
    }
}

}  // namespace takt::jinja
