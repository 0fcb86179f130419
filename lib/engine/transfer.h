// One sequence's way out of an engine or into it: chunks are filled and stored by the worker between two
// steps, and given and taken by the caller's thread at its own pace.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "base/clock.h"
#include "engine/callback_guard.h"
#include "engine/engine.h"
#include "engine/worker.h"
#include "state/state_reader.h"
#include "state/state_writer.h"

namespace takt {

// Pages of a call. They are touched by the worker alone, and go back to it wherever the call ends.
class HeldPages {
public:
    HeldPages(std::shared_ptr<Worker> worker, std::unique_ptr<SequencePages> pages)
        : worker_(std::move(worker)) {
        node_.push_back(std::move(pages));
        worker_->begin_transfer();
    }
    ~HeldPages() { worker_->end_transfer(node_); }
    HeldPages(const HeldPages&) = delete;
    HeldPages& operator=(const HeldPages&) = delete;
    SequencePages* operator->() { return node_.front().get(); }
    std::unique_ptr<SequencePages> take() { return std::move(node_.front()); }
    Worker& worker() { return *worker_; }

private:
    std::shared_ptr<Worker> worker_;
    std::list<std::unique_ptr<SequencePages>> node_;
};

// Keeps the times of a transfer.
class TransferClock {
public:
    TransferClock(const Clock& clock, Transfer& transfer)
        : clock_(clock), transfer_(transfer), begin_ns_(clock.now_ns()) {}
    ~TransferClock() { transfer_.total_ns = clock_.now_ns() - begin_ns_; }
    TransferClock(const TransferClock&) = delete;
    TransferClock& operator=(const TransferClock&) = delete;

    // Calls back for n_bytes; nothing that waits for the engine is possible inside.
    template <typename Call>
    bool call(const CallbackThreads& callbacks, size_t n_bytes, Call callback) const {
        const CallbackThreads::Scope scope(&callbacks);
        const uint64_t begin_ns = clock_.now_ns();
        const bool goes_on = callback();
        transfer_.callback_ns += clock_.now_ns() - begin_ns;
        if (goes_on) transfer_.bytes += n_bytes;
        return goes_on;
    }

private:
    const Clock& clock_;
    Transfer& transfer_;
    const uint64_t begin_ns_;
};

// pages: none are held yet; they will share those of the request.
Status export_sequence(const RequestState& request, const StateLayout& layout, HeldPages& pages,
                       const WriteBytes& write, Transfer& transfer);

// What follows reader.begin(). Cancelled by a cancel_all() after n_cancels.
Status receive_sequence(StateReader& reader, HeldPages& pages, uint64_t n_cancels);

}  // namespace takt
