// Which movie gets which resource, and how often resources are created.
// SPDX-License-Identifier: MIT
#include "warm_worker/resource_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace glint::warm_worker {
namespace {

struct SomeMovie {};
struct SomeResource {
    const SomeMovie* of;
};
using SomePool = ResourcePool<SomeResource, SomeMovie>;

struct SharedResources : testing::Test {
    template <class Work>
    void on_one(const std::shared_ptr<const SomeMovie>& movie, const Work& work, std::size_t most = 2) {
        const auto make = [&](std::unique_ptr<SomeResource>) {
            ++made;
            return std::make_unique<SomeResource>(movie.get());
        };
        pool.on_one(most, movie, make, [&](SomeResource& part) {
            EXPECT_EQ(part.of, movie.get());
            work();
        });
    }
    static void nothing() {}

    SomePool pool{2, std::chrono::milliseconds(20)};
    std::atomic<int> made{0};
    const std::array<std::shared_ptr<const SomeMovie>, 3> movies{
        std::make_shared<SomeMovie>(), std::make_shared<SomeMovie>(), std::make_shared<SomeMovie>()};
};

}  // namespace

TEST_F(SharedResources, stay_with_a_movie_until_another_one_needs_them) {
    for (int k = 0; k < 3; ++k) on_one(movies[0], nothing), on_one(movies[1], nothing);
    EXPECT_EQ(made, 2);
    on_one(movies[2], nothing);  // replaces the first movie's, after a while
    on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
    on_one(movies[0], nothing);
    EXPECT_EQ(made, 4);
}

TEST_F(SharedResources, are_shared_alike) {
    on_one(movies[0], [&] { on_one(movies[0], nothing); });
    EXPECT_EQ(made, 2);
    on_one(movies[1], nothing);  // immediately: the other movie has two
    for (int k = 0; k < 3; ++k) on_one(movies[0], nothing), on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
}

TEST_F(SharedResources, are_made_again_after_a_failure) {
    const auto fail = [](std::unique_ptr<SomeResource>) -> std::unique_ptr<SomeResource> {
        throw std::runtime_error("none");
    };
    on_one(movies[0], nothing, 1);
    EXPECT_THROW(pool.on_one(1, movies[1], fail, [](SomeResource&) {}), std::runtime_error);
    on_one(movies[1], nothing, 1);
    EXPECT_EQ(made, 2);
    EXPECT_THROW(on_one(
                     movies[1], [] { throw std::runtime_error("work"); }, 1),
                 std::runtime_error);
    on_one(movies[1], nothing, 1);
    EXPECT_EQ(made, 2) << "the part is good";
}

TEST_F(SharedResources, are_released) {
    on_one(movies[0], nothing), on_one(movies[1], nothing);
    int dropped = 0;
    const auto drop = [&](std::unique_ptr<SomeResource>& part) { ++dropped, part.reset(); };
    EXPECT_EQ(pool.release_idle(movies[0].get(), drop).size(), 1u);
    EXPECT_EQ(dropped, 1);
    on_one(movies[1], [&] { EXPECT_TRUE(pool.release_idle(movies[1].get(), drop).empty()) << "it is in use"; });
    EXPECT_EQ(made, 2);
    EXPECT_EQ(pool.release_idle(nullptr, drop).size(), 1u);
    on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(movies[0].use_count(), 1);
}

// Each movie has four threads, of which at most two can work. If resources changed movies in rotation, every second
// piece of work would need a new one.
TEST_F(SharedResources, go_to_movies_that_can_use_them) {
    constexpr int pieces = 200, threads_of_movie = 4;
    const Clock::time_point began = Clock::now();
    std::vector<std::thread> threads;
    std::atomic<int> at_once{0}, max_chunk_bytes{0}, done{0};
    const auto work = [&] {
        max_chunk_bytes = std::max(max_chunk_bytes.load(), ++at_once);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        --at_once, ++done;
    };
    for (const auto& movie : movies)
        for (int k = 0; k < threads_of_movie; ++k)
            threads.emplace_back([&] {
                for (int piece = 0; piece < pieces; ++piece) on_one(movie, work);
            });
    for (std::thread& thread : threads) thread.join();
    const int all = int(movies.size()) * threads_of_movie * pieces;
    EXPECT_EQ(done, all);
    EXPECT_LE(max_chunk_bytes, 2);
    // A resource changes movies only after a `patience` of 20 ms, and there are three movies.
    const auto periods = (Clock::now() - began) / std::chrono::milliseconds(20);
    EXPECT_LE(made, 10 + 3 * periods);
}

TEST_F(SharedResources, go_to_who_has_waited_long) {
    constexpr int pieces = 20000;
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    std::atomic<bool> ends{false};
    for (int k = 0; k < 5; ++k)
        threads.emplace_back([&] {
            while (!ends && done < pieces)
                on_one(movies[0], [&] { std::this_thread::sleep_for(std::chrono::microseconds(100)), ++done; });
        });
    while (done < 100) std::this_thread::yield();
    for (int k = 0; k < 10; ++k) on_one(movies[1], nothing);
    ends = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(done, pieces) << "it came last";
}

}  // namespace glint::warm_worker
