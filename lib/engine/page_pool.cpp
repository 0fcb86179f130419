// Free pages first, then the published ones that nobody uses, from the oldest on.
#include "engine/page_pool.h"

#include <algorithm>
#include <bit>

#include "backend/step_batch.h"
#include "base/clock.h"

namespace takt {

PagePool::PagePool(uint32_t n_pages, uint32_t page_tokens)
    : page_tokens_(page_tokens),
      pages_(n_pages),
      ids_(size_t{n_pages} * page_tokens),
      buckets_(std::bit_ceil(std::max<size_t>(n_pages, 1)), kNone) {
    free_.reserve(n_pages);
    lifetimes_.reserve(2 * size_t{n_pages});
    for (uint32_t page = n_pages; page > 0; --page) free_.push_back(page - 1);
}

uint32_t PagePool::take() {
    uint32_t page = kNoPage;
    if (!free_.empty()) {
        page = free_.back();
        free_.pop_back();
    } else if (oldest_ != kNone) {
        page = oldest_;
        remove_unused(page);
        forget(page);
        end_life(page);
    } else {
        return kNoPage;
    }
    pages_[page].references = 1;
    pages_[page].taken_ns = now_ns_;
    ++n_used_;
    return page;
}

void PagePool::share(uint32_t page) {
    if (pages_[page].references++ > 0) return;
    remove_unused(page);
    ++n_used_;
}

void PagePool::give_back(uint32_t page) {
    if (--pages_[page].references > 0) return;
    --n_used_;
    if (pages_[page].published) {
        append_unused(page);
    } else {
        free_.push_back(page);
        end_life(page);
    }
}

// More than can end between two looks at them are not remembered.
void PagePool::end_life(uint32_t page) {
    if (lifetimes_.size() < lifetimes_.capacity())
        lifetimes_.push_back(elapsed_ns(pages_[page].taken_ns, now_ns_));
}

void PagePool::publish(uint32_t page, uint64_t hash, std::span<const int32_t> ids) {
    if (pages_[page].published || find(hash, ids) != kNoPage) return;
    std::copy_n(ids.begin(), page_tokens_, ids_.begin() + std::ptrdiff_t{page} * page_tokens_);
    pages_[page].hash = hash;
    pages_[page].published = true;
    pages_[page].same_bucket = bucket_of(hash);
    bucket_of(hash) = page;
    ++n_published_;
}

uint32_t PagePool::find(uint64_t hash, std::span<const int32_t> ids) const {
    uint32_t page = buckets_[hash & (buckets_.size() - 1)];
    for (; page != kNone; page = pages_[page].same_bucket) {
        if (pages_[page].hash != hash) continue;
        const auto own = ids_.begin() + std::ptrdiff_t{page} * page_tokens_;
        return std::equal(ids.begin(), ids.end(), own, own + page_tokens_) ? page : kNoPage;
    }
    return kNoPage;
}

void PagePool::drop_unused() {
    while (oldest_ != kNone) {
        const uint32_t page = oldest_;
        remove_unused(page);
        forget(page);
        free_.push_back(page);
        end_life(page);
    }
}

void PagePool::forget(uint32_t page) {
    uint32_t* link = &bucket_of(pages_[page].hash);
    while (*link != page) link = &pages_[*link].same_bucket;
    *link = pages_[page].same_bucket;
    pages_[page].published = false;
    --n_published_;
}

void PagePool::append_unused(uint32_t page) {
    pages_[page].older = youngest_;
    pages_[page].younger = kNone;
    (youngest_ == kNone ? oldest_ : pages_[youngest_].younger) = page;
    youngest_ = page;
}

void PagePool::remove_unused(uint32_t page) {
    const Page& own = pages_[page];
    (own.older == kNone ? oldest_ : pages_[own.older].younger) = own.younger;
    (own.younger == kNone ? youngest_ : pages_[own.younger].older) = own.older;
}

}  // namespace takt
