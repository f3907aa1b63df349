// Who has which seat, and how often parts are made.
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
struct SomePart {
    const SomeMovie* of;
};
using SomeSeats = Seats<SomePart, SomeMovie>;

struct SeatsOfMovies : testing::Test {
    template <class Work>
    void on_one(const std::shared_ptr<const SomeMovie>& movie, const Work& work, std::size_t most = 2) {
        const auto make = [&](std::unique_ptr<SomePart>) {
            ++made;
            return std::make_unique<SomePart>(movie.get());
        };
        seats.on_one(most, movie, make, [&](SomePart& part) {
            EXPECT_EQ(part.of, movie.get());
            work();
        });
    }
    static void nothing() {}

    SomeSeats seats{2, std::chrono::milliseconds(20)};
    std::atomic<int> made{0};
    const std::array<std::shared_ptr<const SomeMovie>, 3> movies{
        std::make_shared<SomeMovie>(), std::make_shared<SomeMovie>(), std::make_shared<SomeMovie>()};
};

}  // namespace

TEST_F(SeatsOfMovies, keep_their_parts_until_another_movie_needs_one) {
    for (int k = 0; k < 3; ++k) on_one(movies[0], nothing), on_one(movies[1], nothing);
    EXPECT_EQ(made, 2);
    on_one(movies[2], nothing);  // in place of the first movie's, after a while
    on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
    on_one(movies[0], nothing);
    EXPECT_EQ(made, 4);
}

TEST_F(SeatsOfMovies, are_shared_alike) {
    on_one(movies[0], [&] { on_one(movies[0], nothing); });
    EXPECT_EQ(made, 2);
    on_one(movies[1], nothing);  // at once: the other one has two
    for (int k = 0; k < 3; ++k) on_one(movies[0], nothing), on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
}

TEST_F(SeatsOfMovies, are_made_anew_after_a_failure) {
    const auto fail = [](std::unique_ptr<SomePart>) -> std::unique_ptr<SomePart> { throw std::runtime_error("none"); };
    on_one(movies[0], nothing, 1);
    EXPECT_THROW(seats.on_one(1, movies[1], fail, [](SomePart&) {}), std::runtime_error);
    on_one(movies[1], nothing, 1);
    EXPECT_EQ(made, 2);
    EXPECT_THROW(on_one(
                     movies[1], [] { throw std::runtime_error("work"); }, 1),
                 std::runtime_error);
    on_one(movies[1], nothing, 1);
    EXPECT_EQ(made, 2) << "the part is good";
}

TEST_F(SeatsOfMovies, are_left) {
    on_one(movies[0], nothing), on_one(movies[1], nothing);
    int dropped = 0;
    const auto drop = [&](std::unique_ptr<SomePart>& part) { ++dropped, part.reset(); };
    EXPECT_EQ(seats.leave(movies[0].get(), drop).size(), 1u);
    EXPECT_EQ(dropped, 1);
    on_one(movies[1], [&] { EXPECT_TRUE(seats.leave(movies[1].get(), drop).empty()) << "it is in use"; });
    EXPECT_EQ(made, 2);
    EXPECT_EQ(seats.leave(nullptr, drop).size(), 1u);
    on_one(movies[1], nothing);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(movies[0].use_count(), 1);
}

// Each movie has four threads, of which two at most can work. Were seats taken in turns, every second piece of work would need another
// part.
TEST_F(SeatsOfMovies, go_to_who_can_use_the_part) {
    constexpr int pieces = 200, threads_of_movie = 4;
    const Clock::time_point began = Clock::now();
    std::vector<std::thread> threads;
    std::atomic<int> at_once{0}, most_at_once{0}, done{0};
    const auto work = [&] {
        most_at_once = std::max(most_at_once.load(), ++at_once);
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
    EXPECT_LE(most_at_once, 2);
    // A seat changes hands only after somebody's patience, of 20 ms, and there are three movies.
    const auto periods = (Clock::now() - began) / std::chrono::milliseconds(20);
    EXPECT_LE(made, 10 + 3 * periods);
}

TEST_F(SeatsOfMovies, go_to_who_has_waited_long) {
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
