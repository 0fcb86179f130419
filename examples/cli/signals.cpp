// SIGINT, SIGTERM and SIGPIPE: a command ends with a status, never by a signal.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "failure.h"
#include "system.h"

namespace cli {
namespace {

volatile std::sig_atomic_t g_interrupts = 0;
std::atomic<int> g_listener_pipe = -1;  // where chat's helper thread waits for a byte, or -1

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

void on_signal(int number) {
    const int saved = errno;
    const int pipe = g_listener_pipe.load();
    if (pipe < 0 || number == SIGTERM) {
        g_interrupts = g_interrupts + 1;
        if (g_interrupts > 1) ::_exit(1);
    }
    if (pipe >= 0) {
        const char byte = 'i';
        if (::write(pipe, &byte, 1) != 1) ::_exit(1);  // the pipe is full: many unheeded ones
    }
    errno = saved;
}

void listen(int signal, void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);  // no SA_RESTART: a waiting read returns and looks at the flag
}

void open_pipe(int (&ends)[2]) {
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Failure("There is no pipe left for signals.");
}

void drain(int descriptor) {
    char bytes[64];
    while (::read(descriptor, bytes, sizeof bytes) > 0) {
    }
}

int g_listener_ends[2] = {-1, -1};  // kept for the life of the process: a handler may still hold the number

}  // namespace

void prepare_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    listen(SIGINT, on_signal);
    listen(SIGTERM, on_signal);
}

bool interrupted() {
    return g_interrupts != 0;
}

void check_interrupted() {
    if (interrupted()) throw Failure("Interrupted.");
}

InterruptListener::InterruptListener(std::function<void()> on_interrupt)
    : on_interrupt_(std::move(on_interrupt)) {
    if (g_listener_ends[0] < 0) open_pipe(g_listener_ends);
    g_listener_pipe = g_listener_ends[1];
    thread_ = std::thread([this] {
        for (;;) {
            struct pollfd wait{g_listener_ends[0], POLLIN, 0};
            ::poll(&wait, 1, -1);
            char byte = 0;
            while (::read(g_listener_ends[0], &byte, 1) == 1) {
                if (byte == 'i' && !ending_) on_interrupt_();
            }
            if (ending_) return;
        }
    });
}

InterruptListener::~InterruptListener() {
    g_listener_pipe = -1;
    ending_ = true;
    const char byte = 'e';
    static_cast<void>(!::write(g_listener_ends[1], &byte, 1));
    thread_.join();
}

LineReader::LineReader() {
    open_pipe(wake_);
}

LineReader::~LineReader() {
    ::close(wake_[0]);
    ::close(wake_[1]);
}

void LineReader::stop() noexcept {
    const char byte = 's';
    static_cast<void>(!::write(wake_[1], &byte, 1));
}

std::optional<std::string> LineReader::next() {
    for (;;) {
        if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
            std::string line = pending_.substr(0, end);
            pending_.erase(0, end + 1);
            if (!line.empty() && line.back() == '\r') line.pop_back();
            return line;
        }
        if (at_end_) {
            if (pending_.empty()) return std::nullopt;
            return std::exchange(pending_, {});
        }
        struct pollfd wait[2] = {{wake_[0], POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        if (::poll(wait, 2, -1) < 0) {
            if (interrupted()) return std::nullopt;
            continue;
        }
        if (wait[0].revents != 0) {
            drain(wake_[0]);
            return std::nullopt;
        }
        char buffer[4096];
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) throw Failure("Reading standard input failed.");
        if (n == 0) at_end_ = true;
        pending_.append(buffer, static_cast<std::size_t>(n > 0 ? n : 0));
    }
}

}  // namespace cli
