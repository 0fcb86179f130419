// takt chat: a conversation. Ctrl-C stops the answer, a second one the program.
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <unistd.h>

#include "answer.h"
#include "commands.h"
#include "load.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

struct ChatOptions {
    CommonOptions common;
    GenerationOptions generation;
};

class Chat {
public:
    Chat(const ChatOptions& options, takt::Engine& engine)
        : options_(options), session_(engine, options.generation.system), interactive_(stdin_is_terminal()) {}

    int run() {
        const InterruptListener listener([this] { on_interrupt(); });
        if (interactive_) write_stderr("/stats shows the times, /reset starts anew, /quit or Ctrl-D ends.\n");
        while (!interrupted()) {
            if (interactive_) write_stderr("> ");
            const std::optional<std::string> line = reader_.next();
            if (!line || *line == "/quit") break;
            if (!line->empty()) handle(*line);
            if (is_quitting()) break;
        }
        if (interactive_) write_stderr("\n");
        return failed_ ? 1 : 0;
    }

private:
    void handle(const std::string& line) {
        if (line == "/stats") {
            write_stderr(timing_ ? timing_text(*timing_) : std::string("Nothing was answered yet.\n"));
        } else if (line == "/reset") {
            session_.reset();
        } else if (line.front() == '/') {
            write_stderr(fmt::format("takt: {} is no command; there are /stats, /reset and /quit.\n",
                                     line.substr(0, 40)));
        } else {
            answer(line);
        }
    }

    void answer(const std::string& line) {
        AnswerPrinter printer(options_.common.json);
        takt::RequestOptions request = request_options(options_.generation);
        request.on_event = [&printer](const takt::Event& event) {
            event.is_token() ? printer.token(event) : printer.finished(event);
            return !interrupted();
        };
        begin_answer();
        try {
            timing_ = session_.send(line, request);
            end_answer();
        } catch (const takt::Error& error) {
            end_answer();
            write_stderr(fmt::format("takt: {}\n", error.what()));
            failed_ = !interactive_;  // a person sees it and goes on
            return;
        }
        printer.finish(*timing_, {});
        if (!options_.common.json) write_stdout("\n");
    }

    void begin_answer() {
        const std::lock_guard lock(mutex_);
        answering_ = true;
    }
    void end_answer() {
        const std::lock_guard lock(mutex_);
        answering_ = false;
        stopping_ = false;
    }
    bool is_quitting() {
        const std::lock_guard lock(mutex_);
        return quitting_;
    }

    // On the listener's thread.
    void on_interrupt() {
        const std::lock_guard lock(mutex_);
        if (quitting_) ::_exit(1);  // asked a third time
        if (answering_) session_.cancel();
        if (!answering_ || stopping_) {
            quitting_ = true;
            reader_.stop();
        }
        stopping_ = answering_;
    }

    const ChatOptions& options_;
    takt::Session session_;
    LineReader reader_;
    std::optional<takt_timing> timing_;
    std::mutex mutex_;
    bool interactive_, failed_ = false;
    bool answering_ = false, stopping_ = false, quitting_ = false;
};

int run(const ChatOptions& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common);
    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = options.generation.context_tokens;
    const std::optional<takt::Model> draft = load_draft_model(runtime, options.common, options.generation);
    if (draft) settings.draft_model = draft->get();
    takt::Engine engine(model, settings);
    return Chat(options, engine).run();
}

}  // namespace

Command add_chat(CLI::App& app) {
    auto options = std::make_shared<ChatOptions>();
    CLI::App* command = app.add_subcommand("chat", "Talk with the model");
    add_common(*command, options->common);
    add_generation(*command, options->generation);
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
