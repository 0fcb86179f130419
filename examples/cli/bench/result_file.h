// -o FILE: results appended as they come, and read again by the run that goes on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "numbers/result_lines.h"

namespace cli {

class ResultFile {
public:
    // Makes the file, or reads and repairs one that a run left. Failure, and the file as it was, if it holds
    // anything but results or another run writes to it.
    explicit ResultFile(std::string path);
    ~ResultFile();
    ResultFile(const ResultFile&) = delete;
    ResultFile& operator=(const ResultFile&) = delete;

    // The result of that test under those conditions, if it was there or came since.
    const Json* find(const Json& wanted) const;
    // A whole line, at once.
    void append(const Json& result);

private:
    void read_and_repair();
    [[noreturn]] void fail(const char* verb) const;
    std::string path_;
    int descriptor_ = -1;
    std::vector<Json> results_;
};

// The results of a file that is only read. Failure if it holds anything else.
std::vector<Json> read_results(const std::string& path);

}  // namespace cli
