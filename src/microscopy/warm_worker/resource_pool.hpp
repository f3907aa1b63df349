// What a few at once have of a GPU, made for the movie of who has it.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace glint::warm_worker {

/// Parts of which a thread has one at a time, and which stay for the next one of the same movie. To make one may take longer than most
/// work: so a movie takes another one's seat where that has two more than itself, has not used it for `patience`, or where it has none
/// itself and has waited for as long. Thread-safe.
template <class Part, class Movie>
class Seats {
  public:
    using MoviePtr = std::shared_ptr<const Movie>;
    using Patience = std::chrono::milliseconds;
    explicit Seats(std::size_t count, Patience patience) : patience_(patience), all_(count) {}
    std::size_t count() const { return all_.size(); }

    /// Does work(part) on one of the first `most` seats; waits for one. `make` makes the movie's part from another movie's, or null.
    template <class Make, class Work>
    void on_one(std::size_t most, const MoviePtr& movie, const Make& make, const Work& work) {
        const auto [seat, former] = take(most, movie);
        try {
            if (!seat->part || former != movie) seat->part = make(std::move(seat->part));
            work(*seat->part);
        } catch (...) {
            put_back(*seat);
            throw;
        }
        put_back(*seat);
    }

    /// Calls drop(part) where there is one that is not in use: the movie's, or for null any movie's. Returns these movies, which must
    /// not go before what drop() has taken.
    template <class Drop>
    std::vector<MoviePtr> leave(const Movie* movie, const Drop& drop) {
        std::vector<MoviePtr> left;
        const std::lock_guard lock(mutex_);
        for (Seat& seat : all_) {
            if (seat.taken || !seat.movie || (movie && seat.movie.get() != movie)) continue;
            left.push_back(std::exchange(seat.movie, {}));
            if (seat.part) drop(seat.part);
            seat.last_use = {};
        }
        return left;
    }

  private:
    struct Seat {
        bool taken = false;               // by a thread, whose the part is
        Clock::time_point last_use = {};  // its end
        MoviePtr movie = {};
        std::unique_ptr<Part> part = {};  // of that movie; of another one, or null, until it is made
    };

    struct Waiting {
        const MoviePtr& movie;
        const std::size_t most;
        const Clock::time_point since = Clock::now();
        Seat* seat = nullptr;
        MoviePtr former = {};  // of the seat
        std::condition_variable called = {};
    };

    /// With the movie that it was of.
    std::pair<Seat*, MoviePtr> take(std::size_t most, const MoviePtr& movie) {
        std::unique_lock lock(mutex_);
        Waiting mine{movie, most};
        waiting_.push_back(&mine);
        for (hand_out(); !mine.seat; hand_out()) mine.called.wait_for(lock, patience_ + Patience(1));
        return {mine.seat, std::move(mine.former)};
    }

    void put_back(Seat& seat) {
        const std::lock_guard lock(mutex_);
        seat.taken = false, seat.last_use = Clock::now();
        hand_out();
    }

    bool is_free_for(const Waiting& who, const Seat& seat) const {
        if (seat.taken) return false;
        if (!seat.movie || seat.movie == who.movie) return true;
        const auto seats_of = [&](const MoviePtr& movie) {
            return std::ranges::count_if(all_, [&](const Seat& its) { return its.movie == movie; });
        };
        const auto own = seats_of(who.movie);
        const Clock::time_point long_ago = Clock::now() - patience_;
        return seats_of(seat.movie) > own + 1 || seat.last_use <= long_ago || (own == 0 && who.since <= long_ago);
    }

    /// To those who have waited longest first: a seat of their movie; else an empty one, or that which was used longest ago.
    void hand_out() {
        for (auto who = waiting_.begin(); who != waiting_.end();) {
            Waiting& next = **who;
            const auto rank = [&](const Seat& seat) {
                return std::tuple(!is_free_for(next, seat), seat.movie != next.movie, seat.last_use);
            };
            const auto best = std::min_element(all_.begin(), all_.begin() + std::ptrdiff_t(next.most),
                                               [&](const Seat& a, const Seat& b) { return rank(a) < rank(b); });
            if (!is_free_for(next, *best)) {
                ++who;
                continue;
            }
            best->taken = true;
            next.seat = &*best, next.former = std::exchange(best->movie, next.movie);
            next.called.notify_one();
            waiting_.erase(who);
            who = waiting_.begin();  // fewer seats may be of that movie
        }
    }

    const Patience patience_;
    std::mutex mutex_;  // guards what follows
    std::vector<Waiting*> waiting_;
    std::vector<Seat> all_;
};

}  // namespace glint::warm_worker
