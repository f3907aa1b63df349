// Random arrays: the generator by its authors' test vectors, and the sequence on the CPU and a GPU.
// SPDX-License-Identifier: MIT
#include "glint/arrays/random.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "arrays/philox.hpp"
#include "glint/error.hpp"
#include "gpu/gpu_fixture.hpp"

namespace glint::arrays {
namespace {

using offload::Session;

struct KnownAnswer {
    philox::FourWords counter;
    std::uint64_t key[2];
    philox::FourWords words;
};

/// From "philox4x64 10" in Random123's kat_vectors.
const KnownAnswer known_answers[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {{0x16554d9eca36314cu, 0xdb20fe9d672d0fdcu, 0xd7e772cee186176bu, 0x7e68b68aec7ba23bu}}},
    {{{~0ull, ~0ull, ~0ull, ~0ull}},
     {~0ull, ~0ull},
     {{0x87b092c3013fe90bu, 0x438c3c67be8d0224u, 0x9cc7d7c69cd777b6u, 0xa09caebf594f0ba0u}}},
    {{{0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u}},
     {0x452821e638d01377u, 0xbe5466cf34e90c6cu},
     {{0xa528f45403e61d95u, 0x38c72dbd566e9788u, 0xa5a1610e72fd18b5u, 0x57bd43b5e52b7fe6u}}},
};

TEST(Random, gives_the_words_of_its_authors) {
    for (const KnownAnswer& known : known_answers) {
        const philox::FourWords found = philox::words(known.counter, known.key[0], known.key[1]);
        for (int k = 0; k < 4; ++k) EXPECT_EQ(found.word[k], known.words.word[k]) << k;
    }
}

template <class T>
std::vector<T> numbers(Session& session, Distribution distribution, std::int64_t first, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    random<T>(session, distribution, 11, View<T>(values.data(), {n}), first);
    return values;
}

template <class T>
void expect_parts_of_one_sequence(Session& session, Distribution distribution) {
    constexpr std::int64_t n = 70000;  // more than a chunk of a thread
    const std::vector<T> all = numbers<T>(session, distribution, 0, n);
    for (const std::int64_t first : {1, 6, 40001}) {
        const std::vector<T> part = numbers<T>(session, distribution, first, n - first);
        EXPECT_EQ(part, std::vector<T>(all.begin() + first, all.end())) << first;
    }
}

TEST(Random, parts_are_parts_of_one_sequence) {
    Session session({.choice = Backend::cpu, .threads = 2});
    for (const Distribution distribution : {Distribution::uniform, Distribution::normal}) {
        expect_parts_of_one_sequence<float>(session, distribution);
        expect_parts_of_one_sequence<double>(session, distribution);
    }
    EXPECT_THROW(numbers<float>(session, Distribution::uniform, -1, 3), OptionError);
}

class GpuRandom : public gpu::test::GpuTest {};

TEST_F(GpuRandom, has_the_cpus_bits) {
    Session gpu({.choice = Backend::gpu, .gpu_memory_bytes = 64 << 20, .gpu_timeout_s = 60});
    Session cpu({.choice = Backend::cpu});
    for (const Distribution distribution : {Distribution::uniform, Distribution::normal}) {
        EXPECT_EQ(numbers<float>(gpu, distribution, 5, 100003), numbers<float>(cpu, distribution, 5, 100003));
        EXPECT_EQ(numbers<double>(gpu, distribution, 5, 100003), numbers<double>(cpu, distribution, 5, 100003));
    }
}

}  // namespace
}  // namespace glint::arrays
