// The handle: every call goes to the shared state; the end of the handle is the end of the request.
#include "engine/request.h"

#include "engine/request_state.h"

namespace takt {

Request::Request(std::shared_ptr<RequestState> state) : state_(std::move(state)) {}
Request::~Request() {
    if (state_) state_->abandon();
}
Result<Event> Request::next(uint64_t timeout_ns) {
    return state_->next(timeout_ns);
}
Status Request::wait(uint64_t timeout_ns) {
    return state_->wait(timeout_ns);
}
Status Request::pump(const std::function<bool(const Event&)>& on_event) {
    return state_->pump(on_event);
}
void Request::cancel() {
    state_->cancel();
}
Status Request::status() const {
    return state_->status();
}
FinishReason Request::finish_reason() const {
    return state_->finish_reason();
}
TimingSummary Request::timing() const {
    return state_->timing();
}
Timeline Request::timeline() const {
    return state_->timeline();
}
std::span<const int32_t> Request::prompt_ids() const {
    return state_->options().prompt_ids;
}
const Slo& Request::slo() const {
    return state_->slo();
}
uint64_t Request::number() const {
    return state_->number();
}
std::string_view Request::backend_name() const {
    return state_->backend_name();
}

}  // namespace takt
