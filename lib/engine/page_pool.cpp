// A stack of free pages; the last one returned is warm and goes out first.
#include "engine/page_pool.h"

namespace takt {

PagePool::PagePool(uint32_t n_pages) : n_pages_(n_pages), free_(n_pages) {
    for (uint32_t i = 0; i < n_pages; ++i) free_[i] = n_pages - 1 - i;
}

bool PagePool::reserve(uint32_t n) {
    if (n > n_pages_ - reserved_) return false;
    reserved_ += n;
    return true;
}

void PagePool::unreserve(uint32_t n) {
    reserved_ -= n;
}

uint32_t PagePool::take() {
    const uint32_t page = free_.back();
    free_.pop_back();
    return page;
}

void PagePool::give_back(uint32_t page) {
    free_.push_back(page);
}

}  // namespace takt
