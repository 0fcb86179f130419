// Standard streams, files and signals, as far as the command needs them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace cli {

// Whole and at once, or Failure with the system's reason (a full disk, a closed pipe).
void write_stdout(std::string_view bytes);
// Lost silently if stderr is closed: there is nobody to tell.
void write_stderr(std::string_view bytes) noexcept;

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// Everything up to the end of the stream. Failure if it can't be read or SIGINT came.
std::string read_stdin();
std::string read_file(const std::string& path);

// A file that appears under its name whole or not at all. Targets that are no regular file are written in
// place.
class OutputFile {
public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    void write(const void* bytes, std::size_t size);
    void commit();

private:
    [[noreturn]] void fail() const;
    std::string path_, temporary_;
    int descriptor_ = -1;
};

// Standard streams that are closed become empty ones, so that no file opened later takes their place.
void prepare_streams();
// A closed pipe becomes an error of write; SIGINT and SIGTERM become a flag. The second one within a command
// that doesn't heed the flag ends the process with status 1.
void prepare_signals();
bool interrupted();
// Throws Failure once SIGINT or SIGTERM came.
void check_interrupted();

// While one of these lives, SIGINT and SIGTERM call on_interrupt on a helper thread, where locks may be
// taken; SIGINT does nothing else then.
class InterruptListener {
public:
    explicit InterruptListener(std::function<void()> on_interrupt);
    ~InterruptListener();
    InterruptListener(const InterruptListener&) = delete;
    InterruptListener& operator=(const InterruptListener&) = delete;

private:
    std::function<void()> on_interrupt_;
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

// Lines of stdin; a read can be ended from another thread.
class LineReader {
public:
    LineReader();
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;
    // Nothing at the end of the stream or after stop(). The line end is taken off.
    std::optional<std::string> next();
    void stop() noexcept;

private:
    std::string pending_;
    int wake_[2] = {-1, -1};
    bool at_end_ = false;
};

}  // namespace cli
