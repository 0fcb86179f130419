// What the byte-level tokenizer must do, on hand-made vocabularies.
#include <catch2/catch.hpp>

#include <pthread.h>

#include <random>

#include "tokenizer/detokenizer.h"
#include "vocabularies.h"

using namespace takt;
using namespace takt::test;

namespace {

using Ids = std::vector<int32_t>;

std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    for (const int32_t id : ids) text += tokenizer.token_bytes(id, true);
    return text;
}

std::string random_bytes(size_t size) {
    std::mt19937 random(3);
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    return bytes;
}

}  // namespace

TEST_CASE("Merges apply by rank, leftmost first among equals") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    const int32_t bc = vocabulary.merge("b", "c");
    const int32_t ab = vocabulary.merge("a", "b");
    const int32_t abc = vocabulary.merge("ab", "c");
    const int32_t aa = vocabulary.merge("a", "a");
    const auto tokenizer = make(vocabulary.byte_level("gpt-2"));
    CHECK(encode(*tokenizer, "abc") == Ids{'a', bc});  // b c has the better rank, so ab c is never reached
    CHECK(encode(*tokenizer, "ab") == Ids{ab});
    CHECK(encode(*tokenizer, "aaa") == Ids{aa, 'a'});
    CHECK(encode(*tokenizer, "aaaab") == Ids{aa, 'a', ab});
    CHECK(tokenizer->token_text(abc) == "abc");
}

TEST_CASE("llama-bpe takes a piece that is a token whole, whatever the merges say") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    const int32_t word = vocabulary.add(letters(" word"));
    CHECK(encode(*make(vocabulary.byte_level("llama-bpe").u32("tokenizer.ggml.bos_token_id", 257)),
                 " word") == Ids{word});
    CHECK(encode(*make(vocabulary.byte_level("gpt-2")), " word") == Ids{' ', 'w', 'o', 'r', 'd'});
}

TEST_CASE("Control tokens in a text are text unless asked for; user-defined tokens always match") {
    const auto tokenizer = make(byte_level_vocabulary().byte_level("gpt-2"));
    CHECK(encode(*tokenizer, "a<|end|>", {false, true}) == Ids{'a', 256});
    CHECK(encode(*tokenizer, "<|end|>") == Ids{'<', '|', 'e', 'n', 'd', '|', '>'});
    CHECK(encode(*tokenizer, "a<tool>b") == Ids{'a', 258, 'b'});
    CHECK(encode(*tokenizer, "<|start|><|end|><tool>", {false, true}) == Ids{257, 256, 258});
    CHECK(encode(*tokenizer, "<|end|", {false, true}) == Ids{'<', '|', 'e', 'n', 'd', '|'});
}

TEST_CASE("A merge never gives a control token") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    vocabulary.merges.push_back("x y");
    vocabulary.add("xy", 3);
    for (const char* pre : {"gpt-2", "llama-bpe"}) {
        CHECK(encode(*make(vocabulary.byte_level(pre)), "xy") == Ids{'x', 'y'});
    }
}

TEST_CASE("BOS and EOS are added as the file says") {
    const GgufBytes base = byte_level_vocabulary()
                               .byte_level("gpt-2")
                               .u32("tokenizer.ggml.bos_token_id", 257)
                               .u32("tokenizer.ggml.eos_token_id", 256);
    const EncodeOptions add{true, false};
    CHECK(encode(*make(base), "a", add) == Ids{'a'});  // gpt2 files that don't say add nothing
    CHECK(encode(*make(base), "", add) == Ids{});
    GgufBytes both = base;
    both.flag("tokenizer.ggml.add_bos_token", true).flag("tokenizer.ggml.add_eos_token", true);
    CHECK(encode(*make(both), "a", add) == Ids{257, 'a', 256});
    CHECK(encode(*make(both), "a") == Ids{'a'});
    CHECK(encode(*make(both), "", add) == Ids{257, 256});
    CHECK(make(both)->adds_bos());
    CHECK(make(base)->eos_id() == 256);
    const GgufBytes llama =
        byte_level_vocabulary().byte_level("llama-bpe").u32("tokenizer.ggml.bos_token_id", 257);
    CHECK(encode(*make(llama), "a", add) == Ids{257, 'a'});
}

TEST_CASE("Bytes that are no UTF-8 become their byte tokens and come back as they were") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    vocabulary.merge("\xff", "\xfe");
    const auto tokenizer =
        make(vocabulary.byte_level("llama-bpe").flag("tokenizer.ggml.add_bos_token", false));
    for (const std::string& text :
         {std::string("\xff\xfe"), std::string("a\x80z"), std::string("\xed\xa0\x80"),
          std::string("\xf4\x90\x80\x80"), std::string("\xc0\xaf"), std::string("\xe2\x82"),
          std::string("a\0b", 3), random_bytes(1 << 16)}) {
        CHECK((decode(*tokenizer, encode(*tokenizer, text)) == text));
    }
    CHECK(encode(*tokenizer, "\xff\xfe") == Ids{0xFF, 0xFE});  // they stand alone: no merge
}

TEST_CASE("A megabyte of any bytes and texts without a break are encoded") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    for (const char* unit : {"A", ".", "\n", " ", "9"}) {
        for (std::string half = unit; half.size() < 64; half += half) vocabulary.merge(half, half);
    }
    for (const char* pre : {"gpt-2", "smollm", "qwen2", "llama-bpe", "default"}) {
        const auto tokenizer = make(vocabulary.byte_level(pre));
        for (const char* unit : {"A", "\n", " ", ".", "\u6f22", "9"}) {
            std::string text;
            for (int i = 0; i < 60000; ++i) text += unit;
            CHECK((decode(*tokenizer, encode(*tokenizer, text)) == text));
        }
    }
    const auto tokenizer = make(vocabulary.byte_level("gpt-2"));
    const std::string bytes = random_bytes(1 << 20);
    CHECK((decode(*tokenizer, encode(*tokenizer, bytes)) == bytes));
    const std::string one_piece(1 << 20, 'A');
    CHECK(encode(*tokenizer, one_piece).size() == (1 << 20) / 64);
}

TEST_CASE("A thread with 256 KiB of stack encodes 60,000 characters without a break") {
    struct Job {
        std::shared_ptr<const Tokenizer> tokenizer;
        size_t n_ids = 0;
    };
    TestVocabulary vocabulary = byte_level_vocabulary();
    vocabulary.merge("A", "A");
    Job job{make(vocabulary.byte_level("qwen2"))};
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
    pthread_t thread;
    const auto run = [](void* data) -> void* {
        Job& own = *static_cast<Job*>(data);
        const Result<std::vector<int32_t>> ids = own.tokenizer->encode(std::string(60000, 'A'), {});
        if (ids.ok()) own.n_ids = (*ids).size();
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, &job) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(job.n_ids == 30000);
}

TEST_CASE("A byte without a token is an error with its offset, a control character without one is skipped") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    const int32_t equals = vocabulary.merge("=", "=");
    vocabulary.tokens[0xC3] = "other";
    vocabulary.tokens[0x04] = "another";
    vocabulary.tokens['\n'] = "third";
    const auto tokenizer = make(vocabulary.byte_level("gpt-2"));
    const auto message = [&](std::string_view text) {
        return tokenizer->encode(text, {}).status().message();
    };
    CHECK(message("ab\u00e9") == "Byte 0xC3 at offset 2 of the text has no token in the vocabulary.");
    CHECK(message("<tool>\xc3") == "Byte 0xC3 at offset 6 of the text has no token in the vocabulary.");
    CHECK(message("a\n") == "Byte 0x0A at offset 1 of the text has no token in the vocabulary.");
    CHECK(encode(*tokenizer, "a\x04z") == Ids{'a', 'z'});
    CHECK(encode(*tokenizer, "=\x04=") == Ids{equals});  // it is gone before merges look
    CHECK(encode(*tokenizer, "\x04").empty());
}

TEST_CASE("A text of 2^31 bytes is refused by length before a byte is read") {
    const auto tokenizer = make(byte_level_vocabulary().byte_level("gpt-2"));
    const std::string_view too_long("x", size_t{1} << 31);  // never read
    CHECK(tokenizer->encode(too_long, {}).status().message() ==
          "Text has 2147483648 bytes, the limit is 2147483647.");
}

TEST_CASE("A token gives its bytes, a control token only on request, an id out of range nothing") {
    TestVocabulary vocabulary = byte_level_vocabulary();
    const int32_t odd = vocabulary.add("\u6f22 x");  // outside the alphabet: stands for itself
    const int32_t empty = vocabulary.add("");
    const auto tokenizer = make(vocabulary.byte_level("gpt-2"));
    CHECK(tokenizer->token_bytes(' ', false) == " ");
    CHECK(tokenizer->token_bytes(0, false) == std::string(1, '\0'));
    CHECK(tokenizer->token_bytes(256, false).empty());
    CHECK(tokenizer->token_bytes(256, true) == "<|end|>");
    CHECK(tokenizer->token_bytes(258, false) == "<tool>");
    CHECK(tokenizer->token_bytes(odd, false) == "\u6f22 x");
    CHECK(tokenizer->token_bytes(empty, true).empty());
    for (const int32_t id : {-1, empty + 1, INT32_MAX, INT32_MIN}) {
        CHECK(tokenizer->token_bytes(id, true).empty());
        CHECK(tokenizer->token_text(id).empty());
        CHECK(!tokenizer->is_end_of_generation(id));
    }
    CHECK(encode(*tokenizer, "\u6f22").size() == 3);
}
