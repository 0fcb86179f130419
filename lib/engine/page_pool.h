// Pages of one state group. A sequence reserves its worst case when admitted, so taking a page later never
// fails.
#pragma once

#include <cstdint>
#include <vector>

namespace takt {

class PagePool {
public:
    explicit PagePool(uint32_t n_pages);

    uint32_t n_pages() const { return n_pages_; }
    // Reserved by sequences that were admitted, whether taken yet or not.
    bool reserve(uint32_t n);
    void unreserve(uint32_t n);
    // Within a reservation.
    uint32_t take();
    void give_back(uint32_t page);

private:
    uint32_t n_pages_, reserved_ = 0;
    std::vector<uint32_t> free_;
};

}  // namespace takt
