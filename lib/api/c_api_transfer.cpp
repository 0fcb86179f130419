// Requests that begin with what others computed: forks, exports, imports.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/guard.h"
#include "api/handles.h"
#include "api/new_request.h"
#include "api/request_options.h"
#include "api/struct_copy.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

takt_transfer to_c(const Transfer& transfer) {
    return {sizeof(takt_transfer), transfer.bytes,    transfer.total_ns,
            transfer.callback_ns,  transfer.n_tokens, transfer.n_computed};
}

// Written on every way out.
class TransferOutput {
public:
    explicit TransferOutput(takt_transfer* out) : out_(out) {}
    ~TransferOutput() {
        if (out_ != nullptr) write_struct(to_c(transfer), out_);
    }
    TransferOutput(const TransferOutput&) = delete;
    TransferOutput& operator=(const TransferOutput&) = delete;
    Transfer transfer;

private:
    takt_transfer* out_;
};

// Stops a transfer whose callback throws, and says afterwards whose exception it was.
class CallbackResult {
public:
    template <typename Call>
    bool of(Call call) {
        try {
            return call() == TAKT_CONTINUE;
        } catch (...) {
            thrown_ = what_was_thrown();
        }
        return false;
    }
    Status instead_of(Status status, std::string_view callback) const {
        if (!thrown_) return status;
        return Status(StatusCode::internal, fmt::format("The {} callback threw: {}.", callback, *thrown_));
    }

private:
    std::optional<std::string> thrown_;
};

// A request's handle may outlive its engine's.
Status check_engine(const EngineCalls::Call& call) {
    TAKT_RETURN_IF_ERROR(call.status());
    if (call.engine()) return {};
    return Status(StatusCode::invalid_state, "The request's engine was destroyed.");
}

}  // namespace

takt_status takt_request_fork(takt_request* source, const takt_request_options* options, uint32_t n_tokens,
                              takt_request** out_request) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_request);
        *out_request = nullptr;
        TAKT_RETURN_IF_NULL(source);
        const std::shared_ptr<RequestEnd> end = source->end;
        const uint64_t submitted_ns = end->runtime().clock().now_ns();
        const std::shared_ptr<EngineCalls> calls = source->calls;
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(check_engine(call));
        Result<RequestOptions> own = read_request_options(options);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        const Request& request = end->get();
        return new_request(end->shared_runtime(), calls, out_request,
                           [&] { return call.engine()->fork(request, std::move(*own), n_tokens); });
    });
}

takt_status takt_request_export(takt_request* request, takt_write_callback write, void* user_data,
                                takt_transfer* out_transfer) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        TAKT_RETURN_IF_NULL(write);
        if (out_transfer != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_transfer, "out_transfer"));
        const std::shared_ptr<EngineCalls> calls = request->calls;
        TAKT_RETURN_IF_ERROR(calls->refuse_inside_callback("takt_request_export"));
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(check_engine(call));
        TransferOutput output(out_transfer);
        CallbackResult result;
        const auto give = [&](std::span<const std::byte> bytes) {
            return result.of([&] { return write(user_data, bytes.data(), bytes.size()); });
        };
        return result.instead_of(call.engine()->export_state(request->end->get(), give, output.transfer),
                                 "write");
    });
}

takt_status takt_engine_import(takt_engine* engine, takt_read_callback read, void* user_data,
                               const takt_request_options* options, takt_transfer* out_transfer,
                               takt_request** out_request) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_request);
        *out_request = nullptr;
        TAKT_RETURN_IF_NULL(engine);
        TAKT_RETURN_IF_NULL(read);
        if (out_transfer != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_transfer, "out_transfer"));
        const uint64_t submitted_ns = engine->runtime->clock().now_ns();
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        TAKT_RETURN_IF_ERROR(calls->refuse_inside_callback("takt_engine_import"));
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(call.status());
        Result<RequestOptions> own = read_request_options(options);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        TransferOutput output(out_transfer);
        CallbackResult result;
        const auto fill = [&](std::span<std::byte> bytes) {
            return result.of([&] { return read(user_data, bytes.data(), bytes.size()); });
        };
        Status status = new_request(engine->runtime, calls, out_request, [&] {
            return call.engine()->import_state(fill, std::move(*own), output.transfer);
        });
        return result.instead_of(std::move(status), "read");
    });
}
