// What part of the pages in use holds no position: the price of giving memory out in pages.
#pragma once

#include <cstdint>
#include <limits>

namespace takt {

// Pages that sequences hold, and the positions in them whose keys and values are there. A page that several
// hold is split between them, so that all holders together count it, and what is in it, once.
struct PageUse {
    double pages = 0, tokens = 0;
    PageUse& operator+=(const PageUse& other) {
        pages += other.pages;
        tokens += other.tokens;
        return *this;
    }
};

// 1 - tokens / (pages * page_tokens), sums over steps: a step counts by its pages.
class PageWaste {
public:
    explicit PageWaste(uint32_t page_tokens) : page_tokens_(page_tokens) {}
    void record(const PageUse& step) { sum_ += step; }
    // NaN where no page was ever in use.
    double value() const {
        if (sum_.pages <= 0) return std::numeric_limits<double>::quiet_NaN();
        return 1 - sum_.tokens / (sum_.pages * page_tokens_);
    }

private:
    uint32_t page_tokens_;
    PageUse sum_;
};

}  // namespace takt
