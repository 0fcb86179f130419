// A conversation by the model's chat template, as a thin convenience over requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace takt {

class Session {
public:
    static Result<std::unique_ptr<Session>> create(std::shared_ptr<Engine> engine, std::string system);
    ~Session();
    // options.prompt_ids is made here. A turn that fails, or is cancelled before its first token, leaves the
    // conversation as it was. Returns the ended request. One thread at a time.
    Result<std::unique_ptr<Request>> send(std::string_view text, RequestOptions options);
    void cancel();  // thread-safe
    void reset();

private:
    struct Impl;
    struct Turn;
    explicit Session(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace takt
