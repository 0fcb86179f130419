// Conversations: what is said stays, what failed is taken back.
#include "engine/session.h"

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

// Answers "aaa" and the end of the turn, wherever the prompt ended.
struct Talk : Fixture {
    Talk() {
        script.next = [this](std::span<const int32_t> tokens) {
            return tokens.size() - n_prompt < 3 ? kLetterA : kEndOfTurn;
        };
        script.before_run = [this](const StepBatch& batch) {
            const BatchSequence& first = batch.sequences[0];
            if (first.first_position == 0) n_prompt = batch.tokens.size();
            return fail_next ? Status(StatusCode::device_failed, "It broke.") : Status();
        };
        auto made = Session::create((start(), engine), "Be brief.");
        REQUIRE(made.ok());
        session = std::move(*made);
    }
    ~Talk() { session.reset(); }

    static std::string text_of(std::span<const int32_t> ids) {
        std::string text;
        for (const int32_t id : ids) text += tiny_llama()->tokenizer()->token_bytes(id, true);
        return text;
    }
    // The prompt of the turn.
    std::string say(std::string_view text, RequestOptions options = {}) {
        auto request = session->send(text, std::move(options));
        INFO(request.status().message());
        REQUIRE(request.ok());
        last = std::move(*request);
        return text_of(last->prompt_ids());
    }

    size_t n_prompt = 0;
    bool fail_next = false;
    std::unique_ptr<Session> session;
    std::unique_ptr<Request> last;
};

const std::string kSystem = "<|endoftext|><|im_start|>system\nBe brief.<|im_end|>\n";
const std::string kFirst = "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n";
const std::string kSecond = "<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n";

}  // namespace

TEST_CASE("each turn brings the conversation so far, and reset forgets it") {
    Talk talk;
    CHECK(talk.say("One?") == kSystem + kFirst);
    CHECK(talk.last->finish_reason() == FinishReason::stop);
    CHECK(talk.say("Two?") == kSystem + kFirst + "aaa<|im_end|>\n" + kSecond);
    talk.session->reset();
    CHECK(talk.say("Two?") == kSystem + kSecond);
}

TEST_CASE("later turns have a series of their own, and so have prompts that were cached") {
    Talk talk;
    talk.say("One?");
    talk.say("Two?");
    talk.say("Three?");
    talk.session->reset();
    talk.say("One?");
    Statistics statistics;
    talk.engine->snapshot(statistics);
    const auto count = [&](Series series) { return statistics[series].count(); };
    CHECK(count(Series::ttft_first_miss) + count(Series::ttft_first_hit) == 2);
    CHECK(count(Series::ttft_later_miss) + count(Series::ttft_later_hit) == 2);
}

TEST_CASE("a turn that fails leaves the conversation as it was") {
    Talk talk;
    talk.say("One?");
    talk.fail_next = true;
    talk.say("Lost?");
    CHECK(talk.last->status().code() == StatusCode::device_failed);
    talk.fail_next = false;
    CHECK(talk.session->send(std::string(300, 'x'), {}).status().code() == StatusCode::prompt_too_long);
    CHECK(talk.say("Two?") == kSystem + kFirst + "aaa<|im_end|>\n" + kSecond);
}

TEST_CASE("a turn cancelled before its first token is forgotten, one cancelled later is kept") {
    Talk talk;
    const auto inner = talk.script.before_run;
    bool cancels = true;
    talk.script.before_run = [&](const StepBatch& batch) {
        if (cancels) talk.session->cancel();
        return inner(batch);
    };
    talk.say("Lost?");
    CHECK(talk.last->finish_reason() == FinishReason::cancelled);
    cancels = false;
    RequestOptions options;
    bool first = true;
    talk.script.before_run = [&](const StepBatch& batch) {
        Fixture::take_a_while();
        return inner(batch);
    };
    talk.script.next = [](std::span<const int32_t>) { return kLetterA; };
    std::string heard;
    options.on_event = [&](const Event& event) {
        heard += event.text;
        if (first) talk.session->cancel();
        first = false;
        return true;
    };
    CHECK(talk.say("One?", std::move(options)) == kSystem + kFirst);
    CHECK(talk.last->finish_reason() == FinishReason::cancelled);
    CHECK(talk.say("Two?") == kSystem + kFirst + heard + "<|im_end|>\n" + kSecond);
}

TEST_CASE("a turn inside a turn is refused") {
    Talk talk;
    RequestOptions options;
    StatusCode code = StatusCode::ok;
    options.on_event = [&](const Event&) {
        code = talk.session->send("Now?", {}).status().code();
        return true;
    };
    talk.say("One?", std::move(options));
    CHECK(code == StatusCode::invalid_state);
}

TEST_CASE("text that isn't UTF-8 and text with a NUL are said as well as they can be") {
    Talk talk;
    CHECK(talk.say(std::string_view("a\xFF\0b", 4)).find(std::string_view("user\na\xEF\xBF\xBD\0b", 11)) !=
          std::string::npos);
}

TEST_CASE("a model without a template has no conversations") {
    Fixture fixture({}, tiny_gemma());
    fixture.start();
    CHECK(Session::create(fixture.engine, "").status().code() == StatusCode::template_missing);
}

}  // namespace takt
