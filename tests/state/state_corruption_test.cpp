// Ten thousand damaged states: each is refused, or what came in is what went out.
#include <catch2/catch.hpp>

#include <random>

#include "state_fixture.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kComputed = 33;

class Damage {
public:
    explicit Damage(uint32_t seed) : random_(seed) {}

    std::vector<std::byte> of(const std::vector<std::byte>& sound) {
        std::vector<std::byte> bytes = sound;
        for (size_t n = 1 + below(3); n > 0; --n) hurt(bytes);
        return bytes;
    }

private:
    // Where the numbers are as often as where the keys and values are.
    size_t place(size_t size) { return below(2) == 0 ? below(std::min<size_t>(size, 400)) : below(size); }
    size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
    std::byte any() { return static_cast<std::byte>(random_()); }

    void hurt(std::vector<std::byte>& bytes) {
        const size_t at = place(bytes.size()), n = std::min(1 + below(64), bytes.size() - at);
        const auto from = bytes.begin() + static_cast<ptrdiff_t>(at), to = from + static_cast<ptrdiff_t>(n);
        switch (below(8)) {
            case 0:  // a bit
                if (n > 0) *from ^= static_cast<std::byte>(1 << below(8));
                return;
            case 1:  // some bytes
                return std::generate(from, to, [&] { return any(); });
            case 2:  // a cut
                return bytes.resize(at);
            case 3:  // a hole
                bytes.erase(from, to);
                return;
            case 4:  // bytes between
                bytes.insert(from, n, any());
                return;
            case 5: {  // two ranges change places
                const size_t other = place(bytes.size() - n + 1);
                if (other + n <= at || at + n <= other)
                    std::swap_ranges(from, to, bytes.begin() + static_cast<ptrdiff_t>(other));
                return;
            }
            case 6: {  // a range twice
                const std::vector<std::byte> copy(from, to);
                bytes.insert(to, copy.begin(), copy.end());
                return;
            }
            default: {  // an interesting number
                constexpr uint32_t kNumbers[] = {0, 1, 2, 33, 34, 0x7fffffff, 0x80000000, 0xffffffff};
                const uint32_t number = kNumbers[below(std::size(kNumbers))];
                if (n >= sizeof number) std::memcpy(&*from, &number, sizeof number);
            }
        }
    }

    std::mt19937 random_;
};

}  // namespace

TEST_CASE("10,000 damaged states are refused or harmless") {
    const DType dtype = GENERATE(DType::f16, DType::q8_0);
    End from(dtype), to(dtype, 8);
    from.compute(kComputed);
    const std::vector<std::byte> sound = exported(from, kComputed);
    Damage damage(dtype == DType::f16 ? 1 : 2);
    int n_harmless = 0, n_wrong = 0, n_found_late = 0;
    for (int round = 0; round < 5000; ++round) {
        const std::vector<std::byte> bytes = damage.of(sound);
        StateReader reader(to.layout, Bytes(bytes));
        const Status status = import_all(reader, to);
        if (status.ok()) {
            ++n_harmless;
            if (exported(to, kComputed) != sound) ++n_wrong;
            continue;
        }
        const bool named =
            status.code() == StatusCode::state_corrupt || status.code() == StatusCode::state_mismatch;
        if (!named || status.message().empty()) ++n_wrong;
        n_found_late += status.message().find("the chunk of blk.") != std::string::npos;
    }
    CHECK(n_wrong == 0);
    CHECK(n_harmless < 500);
    CHECK(n_found_late > 500);
    // And it still takes a sound one.
    REQUIRE(import_all(sound, to).ok());
    CHECK(exported(to, kComputed) == sound);
}

TEST_CASE("whatever numbers a header with a right checksum holds, nothing but a sound state is taken") {
    End from, to;
    from.compute(kComputed);
    const std::vector<std::byte> sound = exported(from, kComputed);
    std::mt19937 random(9);
    constexpr size_t kTable = sizeof(StateHeader) + 2 * sizeof(StateRow);
    for (int round = 0; round < 5000; ++round) {
        std::vector<std::byte> bytes = sound;
        // One field of 32 bits becomes another number.
        const size_t at = 24 + 4 * (random() % ((kTable - 24) / 4));
        uint32_t number;
        std::memcpy(&number, bytes.data() + at, sizeof number);
        number = random() % 2 == 0 ? static_cast<uint32_t>(random())
                                   : number + static_cast<uint32_t>(random() % 9) - 4;
        std::memcpy(bytes.data() + at, &number, sizeof number);
        const uint64_t checksum = header_checksum(std::span(bytes).first(kTable));
        std::memcpy(bytes.data() + 16, &checksum, sizeof checksum);
        const Status status = import_all(bytes, to);
        if (status.ok() != (bytes == sound))
            FAIL("byte " << at << ", " << number << ": " << status.message());
    }
}
