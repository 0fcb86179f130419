// Requests that begin with what others computed: forks in this engine, exports to other processes and imports
// from them.
#include <utility>

#include "engine/engine_impl.h"
#include "engine/transfer.h"

namespace takt {

Result<std::unique_ptr<Request>> Engine::fork(const Request& source, RequestOptions options,
                                              uint32_t n_tokens) {
    const uint64_t submitted_ns = options.submitted_ns.value_or(impl_->runtime->clock().now_ns());
    return without_exceptions("the fork", [&]() -> Result<std::unique_ptr<Request>> {
        options.prompt_ids = source.state_->tokens();
        const size_t n_all = options.prompt_ids.size();
        if (n_tokens > n_all) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("n_tokens is {}, the request has {} so far.", n_tokens, n_all));
        }
        if (n_tokens != 0) options.prompt_ids.resize(n_tokens);
        options.cache_key = source.state_->options().cache_key;
        TAKT_RETURN_IF_ERROR(impl_->check(options));
        auto running = impl_->make_request(std::move(options), submitted_ns);
        running->source = source.state_;
        std::shared_ptr<RequestState> state = running->state;
        auto request = std::make_unique<Request>(nullptr);
        TAKT_RETURN_IF_ERROR(impl_->worker->submit(std::move(running)));
        request->state_ = std::move(state);
        return request;
    });
}

Status Engine::export_state(const Request& request, const WriteBytes& write, Transfer& transfer) {
    if (inside_callback()) return waits("export_state()");
    return without_exceptions("the export", [&]() -> Status {
        if (!impl_->layout.ok()) return impl_->layout.status();
        const TransferClock clock(impl_->runtime->clock(), transfer);
        HeldPages pages(impl_->worker,
                        impl_->new_pages(impl_->options.context_tokens, request.state_->options().cache_key));
        const WriteBytes counted = [&](std::span<const std::byte> bytes) {
            return clock.call(*impl_->callbacks, bytes.size(), [&] { return write(bytes); });
        };
        return export_sequence(*request.state_, *impl_->layout, pages, counted, transfer);
    });
}

// The pages go to the request only when all of them are filled; until then they are the call's.
Result<std::unique_ptr<Request>> Engine::import_state(const ReadBytes& read, RequestOptions options,
                                                      Transfer& transfer) {
    if (inside_callback()) return waits("import_state()");
    const uint64_t submitted_ns = options.submitted_ns.value_or(impl_->runtime->clock().now_ns());
    return without_exceptions("the import", [&]() -> Result<std::unique_ptr<Request>> {
        if (!impl_->layout.ok()) return impl_->layout.status();
        TAKT_RETURN_IF_ERROR(impl_->check_all_but_prompt(options));
        const TransferClock clock(impl_->runtime->clock(), transfer);
        StateReader reader(*impl_->layout, [&](std::span<std::byte> bytes) {
            return clock.call(*impl_->callbacks, bytes.size(), [&] { return read(bytes); });
        });
        const uint64_t n_cancels = impl_->worker->n_cancels();
        TAKT_RETURN_IF_ERROR(reader.begin(impl_->options.context_tokens - (options.max_tokens > 0 ? 1 : 0)));
        const SequenceTokens sequence = reader.sequence();
        transfer.n_tokens = static_cast<uint32_t>(sequence.ids.size());
        transfer.n_computed = sequence.n_computed;
        if (transfer.n_computed == transfer.n_tokens) {
            return Status(
                StatusCode::state_mismatch,
                fmt::format("All {} tokens of the exported state are computed; the last one must be "
                            "left, whose row says what follows.",
                            transfer.n_tokens));
        }
        options.prompt_ids.assign(sequence.ids.begin(), sequence.ids.end());
        options.cache_key = impl_->worker->next_sequence();
        auto running = impl_->make_request(std::move(options), submitted_ns);
        std::shared_ptr<RequestState> state = running->state;
        auto request = std::make_unique<Request>(nullptr);
        HeldPages pages(impl_->worker, std::move(running->pages));
        const uint64_t begin_ns = impl_->runtime->clock().now_ns();
        TAKT_RETURN_IF_ERROR(receive_sequence(reader, pages, n_cancels));
        state->stamp_handover(begin_ns, impl_->runtime->clock().now_ns() - begin_ns);
        running->came_imported = true;
        TAKT_RETURN_IF_ERROR(impl_->worker->between_steps(n_cancels, [&](Executable&) {
            running->pages = pages.take();
            running->imported = true;
            running->n_computed = transfer.n_computed;
            return impl_->worker->submit(std::move(running));
        }));
        request->state_ = std::move(state);
        return request;
    });
}

Result<std::vector<uint32_t>> Engine::pages_in_use() {
    if (inside_callback()) return waits("pages_in_use()");
    std::vector<uint32_t> in_use;
    TAKT_RETURN_IF_ERROR(impl_->worker->between_steps(impl_->worker->n_cancels(), [&](Executable&) {
        for (const PagePool& pool : impl_->worker->pools()) in_use.push_back(pool.n_used());
        return Status();
    }));
    return in_use;
}

}  // namespace takt
