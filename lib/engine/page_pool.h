// Pages of one state group: counted references, and full pages kept for reuse by the hash of their whole
// prefix until the room is wanted, least recently used first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace takt {

// One thread at a time. Everything is sized when made.
class PagePool {
public:
    PagePool(uint32_t n_pages, uint32_t page_tokens);

    uint32_t page_tokens() const { return page_tokens_; }
    uint32_t n_pages() const { return static_cast<uint32_t>(pages_.size()); }
    uint32_t n_used() const { return n_used_; }  // with a reference
    uint32_t n_available() const { return n_pages() - n_used_; }
    uint32_t n_published() const { return n_published_; }
    // Kept for reuse alone: published, without a reference.
    uint32_t n_unused_published() const { return n_available() - static_cast<uint32_t>(free_.size()); }

    // With one reference; kNoPage if all have one. What was published last and longest unused goes first.
    uint32_t take();
    void share(uint32_t page);
    void give_back(uint32_t page);
    bool is_shared(uint32_t page) const { return pages_[page].references > 1; }
    uint32_t n_references(uint32_t page) const { return pages_[page].references; }
    // What others hold, or may find, stays as it is.
    bool may_write(uint32_t page) const { return pages_[page].references == 1 && !pages_[page].published; }

    // Makes a full page findable: ids are its page_tokens tokens, hash that of all tokens up to its end.
    // Whoever published the same before keeps the name.
    void publish(uint32_t page, uint64_t hash, std::span<const int32_t> ids);
    // Its only holder wants to write it, and no other is free: nobody finds it any more.
    void withdraw(uint32_t page) { forget(page); }
    // kNoPage if none is known, or the ids differ. Takes no reference.
    uint32_t find(uint64_t hash, std::span<const int32_t> ids) const;
    // Forgets what nobody uses.
    void drop_unused();

    // Now, for what is taken and ends from here on.
    void set_time(uint64_t now_ns) { now_ns_ = now_ns; }
    // Of pages that ended: from when one was taken until nobody held it or could find it any more.
    std::span<const uint64_t> lifetimes() const { return lifetimes_; }
    void forget_lifetimes() { lifetimes_.clear(); }

private:
    static constexpr uint32_t kNone = ~0u;
    struct Page {
        uint64_t hash = 0;
        uint32_t references = 0;
        bool published = false;
        uint64_t taken_ns = 0;
        uint32_t same_bucket = kNone;             // the next page of its bucket
        uint32_t older = kNone, younger = kNone;  // among the published that nobody uses
    };
    uint32_t& bucket_of(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
    void forget(uint32_t page);
    void end_life(uint32_t page);
    void append_unused(uint32_t page);
    void remove_unused(uint32_t page);

    uint32_t page_tokens_, n_used_ = 0, n_published_ = 0;
    std::vector<Page> pages_;
    std::vector<int32_t> ids_;  // [n_pages][page_tokens], of published pages
    std::vector<uint32_t> buckets_;
    uint64_t now_ns_ = 0;
    std::vector<uint64_t> lifetimes_;  // sized when made
    std::vector<uint32_t> free_;       // never published, or forgotten
    uint32_t oldest_ = kNone, youngest_ = kNone;
};

}  // namespace takt
