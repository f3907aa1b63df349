// A pool of per-movie GPU resources shared by several threads.
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

/// A thread borrows one resource at a time. Afterwards the resource is kept for the same movie. Creating a resource may
/// take longer than the work itself. A movie gets another movie's resource only if one of these conditions holds:
/// - the other movie has at least two more resources,
/// - the other movie has not used it for `patience`,
/// - the movie has no resource, and has waited for `patience`.
///
/// Thread-safe.
template <class Resource, class Movie>
class ResourcePool {
  public:
    using MoviePtr = std::shared_ptr<const Movie>;
    using Patience = std::chrono::milliseconds;
    explicit ResourcePool(std::size_t count, Patience patience) : patience_(patience), all_(count) {}
    std::size_t count() const { return all_.size(); }

    /// Waits for one of the first `most` entries and calls work(resource). `make` creates the resource from another
    /// movie's, or from null.
    template <class Make, class Work>
    void on_one(std::size_t most, const MoviePtr& movie, const Make& make, const Work& work) {
        const auto [entry, former] = take(most, movie);
        try {
            if (!entry->resource || former != movie) entry->resource = make(std::move(entry->resource));
            work(*entry->resource);
        } catch (...) {
            put_back(*entry);
            throw;
        }
        put_back(*entry);
    }

    /// Calls drop(resource) for each idle resource of the movie, or of all movies if `movie` is null. Returns the
    /// movies of these resources; keep them until the dropped resources are destroyed.
    template <class Drop>
    std::vector<MoviePtr> release_idle(const Movie* movie, const Drop& drop) {
        std::vector<MoviePtr> released;
        const std::lock_guard lock(mutex_);
        for (Entry& entry : all_) {
            if (entry.taken || !entry.movie || (movie && entry.movie.get() != movie)) continue;
            released.push_back(std::exchange(entry.movie, {}));
            if (entry.resource) drop(entry.resource);
            entry.last_use = {};
        }
        return released;
    }

  private:
    struct Entry {
        bool taken = false;               // a thread uses the resource
        Clock::time_point last_use = {};  // end of the last use
        MoviePtr movie = {};
        std::unique_ptr<Resource> resource = {};  // belongs to `movie`; until `make` has run, to another movie or null
    };

    struct Waiting {
        const MoviePtr& movie;
        const std::size_t most;
        const Clock::time_point since = Clock::now();
        Entry* entry = nullptr;
        MoviePtr former = {};  // the entry's previous movie
        std::condition_variable called = {};
    };

    /// Returns an entry and its previous movie.
    std::pair<Entry*, MoviePtr> take(std::size_t most, const MoviePtr& movie) {
        std::unique_lock lock(mutex_);
        Waiting mine{movie, most};
        waiting_.push_back(&mine);
        for (hand_out(); !mine.entry; hand_out()) mine.called.wait_for(lock, patience_ + Patience(1));
        return {mine.entry, std::move(mine.former)};
    }

    void put_back(Entry& entry) {
        const std::lock_guard lock(mutex_);
        entry.taken = false, entry.last_use = Clock::now();
        hand_out();
    }

    bool is_free_for(const Waiting& who, const Entry& entry) const {
        if (entry.taken) return false;
        if (!entry.movie || entry.movie == who.movie) return true;
        const auto entries_of = [&](const MoviePtr& movie) {
            return std::ranges::count_if(all_, [&](const Entry& its) { return its.movie == movie; });
        };
        const auto own = entries_of(who.movie);
        const Clock::time_point long_ago = Clock::now() - patience_;
        return entries_of(entry.movie) > own + 1 || entry.last_use <= long_ago || (own == 0 && who.since <= long_ago);
    }

    /// Serves the longest waiting thread first. Prefers an entry of the same movie; otherwise an empty entry, or the
    /// one idle for longest.
    void hand_out() {
        for (auto who = waiting_.begin(); who != waiting_.end();) {
            Waiting& next = **who;
            const auto rank = [&](const Entry& entry) {
                return std::tuple(!is_free_for(next, entry), entry.movie != next.movie, entry.last_use);
            };
            const auto best = std::min_element(all_.begin(), all_.begin() + std::ptrdiff_t(next.most),
                                               [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
            if (!is_free_for(next, *best)) {
                ++who;
                continue;
            }
            best->taken = true;
            next.entry = &*best, next.former = std::exchange(best->movie, next.movie);
            next.called.notify_one();
            waiting_.erase(who);
            who = waiting_.begin();  // the former movie now has fewer entries, so another thread may be served
        }
    }

    const Patience patience_;
    std::mutex mutex_;  // guards the members below
    std::vector<Waiting*> waiting_;
    std::vector<Entry> all_;
};

}  // namespace glint::warm_worker
