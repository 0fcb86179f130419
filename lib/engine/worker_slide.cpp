// What becomes of a request whose context is full: its oldest tokens go and the rest is computed anew, or it
// ends.
#include <fmt/format.h>

#include "engine/worker.h"

namespace takt {

// In place: what is left is a prompt of a running request. Its keys and values stand at other positions now,
// so only the pages of a start that stayed, and are known by their tokens, serve again.
void Worker::slide_full_contexts() {
    for (const Running& request : running_) {
        if (!request->slides || request->tokens.size() < request->max_total) continue;
        request->state->count_slide(request->slide());
        request->pages->start_over();
        if (limits_.prefix_reuse) request->n_computed = request->pages->reuse(request->tokens);
    }
}

Status Worker::context_full(const RunningRequest& request) {
    const RequestOptions& options = request.state->options();
    const uint64_t need = uint64_t{request.n_prompt} + options.max_tokens;
    return Status(StatusCode::ok,
                  fmt::format("The context is full: it holds {} tokens, prompt and max_tokens need {}.",
                              request.max_total, need));
}

}  // namespace takt
