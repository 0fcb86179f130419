// Prints the events of one answer: text as it comes, or one JSON object a line.
#pragma once

#include <string>
#include <vector>

#include <takt/takt.hpp>

namespace cli {

class AnswerPrinter {
public:
    explicit AnswerPrinter(bool json) : json_(json) {}

    void token(const takt::Event& event);
    // The rest of the text; the JSON line of the end comes with finish().
    void finished(const takt::Event& event);
    void finish(const takt_timing& timing, const std::vector<int32_t>& prompt_ids);

    const std::string& text() const { return text_; }

private:
    bool json_;
    std::string text_, message_;
    std::vector<int32_t> ids_;
    takt_status status_ = TAKT_OK;
};

}  // namespace cli
