// A model from a path, from a part of a file descriptor, from memory; progress, log sink, clock.
#include <catch2/catch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "c_fixture.h"
#include "temporary_folder.h"

using namespace takt_test;

namespace {

std::string file_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

takt_model_info info_of(const takt_model* model) {
    takt_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(takt_model_get_info(model, &info) == TAKT_OK);
    return info;
}

struct RuntimeHandle {
    takt_runtime* runtime = nullptr;
    explicit RuntimeHandle(const takt_runtime_options* options = nullptr) {
        REQUIRE(takt_runtime_create(options, &runtime) == TAKT_OK);
    }
    ~RuntimeHandle() { takt_runtime_destroy(runtime); }
    RuntimeHandle(const RuntimeHandle&) = delete;
    RuntimeHandle& operator=(const RuntimeHandle&) = delete;
};

}  // namespace

TEST_CASE("Path, descriptor with an offset, and memory give the same model") {
    const RuntimeHandle handle;
    const std::string path = tiny_model(), bytes = file_bytes(path);
    takt_model *from_path = nullptr, *from_descriptor = nullptr, *from_memory = nullptr;
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = path.c_str();
    REQUIRE(takt_model_load(handle.runtime, &load, &from_path) == TAKT_OK);

    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    const std::string before(1000, 'x'), behind(50, 'y');
    std::fwrite(before.data(), 1, before.size(), file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fwrite(behind.data(), 1, behind.size(), file);
    std::fflush(file);
    load = TAKT_MODEL_OPTIONS_INIT;
    load.descriptor = fileno(file);
    load.descriptor_offset = before.size();
    load.descriptor_length = bytes.size();
    REQUIRE(takt_model_load(handle.runtime, &load, &from_descriptor) == TAKT_OK);
    load.descriptor_length = bytes.size() / 2;
    takt_model* cut = nullptr;
    CHECK(takt_model_load(handle.runtime, &load, &cut) == TAKT_ERROR_FILE_TRUNCATED);
    load.descriptor_offset = 1;
    CHECK(takt_model_load(handle.runtime, &load, &cut) == TAKT_ERROR_FILE_INVALID);
    std::fclose(file);

    load = TAKT_MODEL_OPTIONS_INIT;
    load.memory = bytes.data();
    load.memory_bytes = bytes.size();
    REQUIRE(takt_model_load(handle.runtime, &load, &from_memory) == TAKT_OK);
    CHECK(info_of(from_path).fingerprint == info_of(from_descriptor).fingerprint);
    CHECK(info_of(from_path).fingerprint == info_of(from_memory).fingerprint);
    CHECK(info_of(from_path).packed_bytes == info_of(from_memory).packed_bytes);
    load.memory_bytes = bytes.size() - 1;
    CHECK(takt_model_load(handle.runtime, &load, &cut) == TAKT_ERROR_FILE_TRUNCATED);
    load.memory_bytes = 0;
    CHECK(takt_model_load(handle.runtime, &load, &cut) != TAKT_OK);
    CHECK(cut == nullptr);
    takt_model_destroy(from_path);
    takt_model_destroy(from_descriptor);
    takt_model_destroy(from_memory);
}

TEST_CASE("A progress callback sees every byte, and may end the load") {
    struct Progress {
        uint64_t done = 0, total = 0;
        bool stop = false;
        static int32_t call(void* user_data, uint64_t done, uint64_t total) {
            auto& self = *static_cast<Progress*>(user_data);
            CHECK(done >= self.done);
            self.done = done;
            self.total = total;
            return self.stop ? TAKT_STOP : TAKT_CONTINUE;
        }
    } progress;
    const RuntimeHandle handle;
    const std::string path = tiny_model();
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = path.c_str();
    load.progress = Progress::call;
    load.progress_user_data = &progress;
    takt_model* model = nullptr;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    CHECK(progress.total == info_of(model).weight_bytes);
    CHECK(progress.done == progress.total);
    takt_model_destroy(model);
    model = nullptr;
    progress = {};
    progress.stop = true;
    CHECK(takt_model_load(handle.runtime, &load, &model) == TAKT_ERROR_CANCELLED);
    CHECK(model == nullptr);
    progress = {};
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);  // nothing half-made stayed behind
    takt_model_destroy(model);
}

TEST_CASE("A file that shrinks while it is read is an error, not a signal") {
    const RuntimeHandle handle;
    const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                       ("takt_shrinks_" + std::to_string(std::random_device()()) + ".gguf");
    std::filesystem::copy_file(tiny_model(), path);
    std::string name = path.string();
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = name.c_str();
    load.metadata_only = 1;
    takt_model* model = nullptr;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    std::filesystem::resize_file(path, 100'000);
    takt_engine* engine = nullptr;
    CHECK(takt_engine_create(model, nullptr, &engine) == TAKT_ERROR_FILE_TRUNCATED);
    CHECK(last_error_names(name));
    CHECK(engine == nullptr);
    takt_model_destroy(model);
    std::filesystem::remove(path);
}

TEST_CASE("With metadata alone a model tokenizes, and the first engine loads the weights") {
    const RuntimeHandle handle;
    const std::string path = tiny_model();
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = path.c_str();
    load.metadata_only = 1;
    takt_model* model = nullptr;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    CHECK(info_of(model).packed_bytes == 0);
    CHECK(info_of(model).has_chat_template == 1);
    size_t count = 0;
    CHECK(takt_model_tokenize(model, "Hello, world!", 13, 0, nullptr, 0, &count) == TAKT_OK);
    CHECK(count == 10);
    takt_engine* engine = nullptr;
    REQUIRE(takt_engine_create(model, nullptr, &engine) == TAKT_OK);
    takt_request_options ask = golden_request(1);
    CHECK(takt_engine_generate(engine, &ask, nullptr) == TAKT_OK);
    CHECK(takt_engine_destroy(engine) == TAKT_OK);
    takt_model_destroy(model);
}

TEST_CASE("Any named backend is the one in the timing") {
    Stack stack;
    for (size_t i = 0; i < takt_backend_count(stack.runtime); ++i) {
        takt_backend_info info{};
        info.struct_size = sizeof info;
        REQUIRE(takt_backend_get(stack.runtime, i, &info) == TAKT_OK);
        if (info.available == 0) continue;
        takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
        limits.backend = info.name;
        takt_engine* engine = nullptr;
        REQUIRE(takt_engine_create(stack.model, &limits, &engine) == TAKT_OK);
        takt_request_options ask = golden_request(1);
        takt_timing timing = empty_timing();
        REQUIRE(takt_engine_generate(engine, &ask, &timing) == TAKT_OK);
        CHECK(std::string(timing.backend) == info.name);
        REQUIRE(takt_engine_destroy(engine) == TAKT_OK);
    }
}

TEST_CASE("What takt has to say reaches the runtime's own sink, no louder than asked") {
    struct Lines {
        std::string text;
        int lines = 0;
        static void call(void* user_data, int32_t level, const char* text, size_t bytes) {
            auto& self = *static_cast<Lines*>(user_data);
            CHECK(level <= TAKT_LOG_WARNING);
            self.text.append(text, bytes);
            ++self.lines;
        }
    } lines;
    takt_runtime_options options = TAKT_RUNTIME_OPTIONS_INIT;
    options.log = Lines::call;
    options.log_user_data = &lines;
    const std::string path = std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/073_tensor_unknown_extra.gguf";
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = path.c_str();
    load.metadata_only = 1;
    takt_model* model = nullptr;
    {
        const RuntimeHandle handle(&options);
        REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
        takt_model_destroy(model);
        CHECK(lines.lines == 1);
        CHECK(lines.text.find("blk.0.mystery.weight") != std::string::npos);
    }
    options.log_level = TAKT_LOG_ERROR;
    const RuntimeHandle quiet(&options);
    REQUIRE(takt_model_load(quiet.runtime, &load, &model) == TAKT_OK);
    takt_model_destroy(model);
    CHECK(lines.lines == 1);
}

TEST_CASE("Every stamp comes from the clock that the runtime was given") {
    std::atomic<uint64_t> now = 1000;
    takt_runtime_options options = TAKT_RUNTIME_OPTIONS_INIT;
    options.clock = [](void* user_data) {
        return static_cast<std::atomic<uint64_t>*>(user_data)->fetch_add(1);
    };
    options.clock_user_data = &now;
    Stack stack(TAKT_ENGINE_OPTIONS_INIT, &options);
    const uint64_t before = takt_runtime_now_ns(stack.runtime);
    CHECK(before >= 1000);
    takt_request_options ask = golden_request(4);
    takt_timing timing = empty_timing();
    REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
    CHECK(timing.submitted_ns > before);
    CHECK(timing.finished_ns < now);
    CHECK(timing.e2e_ns < now - before);
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
}

TEST_CASE(
    "Packed weights are kept where a caller says, for models from files, and older callers need not know") {
    const RuntimeHandle handle;
    const takt::test::TemporaryFolder folder;
    const std::string path = tiny_model(), packed = folder.file("packed");
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    load.path = path.c_str();
    load.backend = "cpu";
    load.packed_cache_dir = packed.c_str();
    // Before the field was there: what lies behind the struct isn't read.
    load.struct_size = offsetof(takt_model_options, packed_cache_dir);
    takt_model* model = nullptr;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    const uint64_t packed_bytes = info_of(model).packed_bytes;
    takt_model_destroy(model);
    CHECK_FALSE(std::filesystem::exists(packed));
    load.struct_size = sizeof load;
    // Left for the first engine, and then found by a load.
    load.metadata_only = 1;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    CHECK_FALSE(std::filesystem::exists(packed));
    takt_engine* engine = nullptr;
    REQUIRE(takt_engine_create(model, nullptr, &engine) == TAKT_OK);
    const auto files = [&] { return std::filesystem::directory_iterator(packed); };
    REQUIRE(std::distance(begin(files()), end(files())) == 1);
    const auto written = std::filesystem::last_write_time(files()->path());
    REQUIRE(takt_engine_destroy(engine) == TAKT_OK);
    takt_model_destroy(model);
    load.metadata_only = 0;
    REQUIRE(takt_model_load(handle.runtime, &load, &model) == TAKT_OK);
    CHECK(info_of(model).packed_bytes == packed_bytes);
    CHECK(std::filesystem::last_write_time(files()->path()) == written);
    takt_model_destroy(model);
}
