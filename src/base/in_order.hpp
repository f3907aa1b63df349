// A pipeline over a stream of items: begun in order, worked on in parallel, ended in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/arena.hpp"

namespace glint {

/// Processes items in parallel and ends them in order. `begin(item)` fills the next item, or returns false at the end;
/// `work(item)` runs on any thread; `end(item)` receives the result. `begin` and `end` are called by one thread at a
/// time, in order. `items` are a ring and keep their memory; their number limits the items in flight. Items leave in
/// the order in which they entered, so the next item in the ring is free. The caller owns the ring, since oneTBB drops
/// what is in flight when a function throws. Exceptions of the functions propagate. `threads` > 0.
template <class Item, class Begin, class Work, class End>
void in_order(int threads, std::vector<Item> items, const Begin& begin, const Work& work, const End& end) {
    threads = tbb_threads(threads);
    std::size_t turn = 0;
    const auto first =
        tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
            Item& item = items[turn];
            if (!begin(item)) return control.stop(), static_cast<Item*>(nullptr);
            turn = (turn + 1) % items.size();
            return &item;
        });
    const auto middle =
        tbb::make_filter<Item*, Item*>(tbb::filter_mode::parallel, [&](Item* item) { return work(*item), item; });
    const auto last = tbb::make_filter<Item*, void>(tbb::filter_mode::serial_in_order, [&](Item* item) { end(*item); });
    // By default, oneTBB uses no more threads than there are cores; the caller may request more.
    constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
    const std::size_t allowed = std::max(tbb::global_control::active_value(parallelism), std::size_t(threads));
    const tbb::global_control control(parallelism, allowed);
    tbb::task_arena arena(threads);
    arena.execute([&] { tbb::parallel_pipeline(items.size(), first & middle & last); });
}

/// Calls `make(k, made)` for k from 0 to `count`, on any thread, and `take(k, made)` in order, one at a time. Uses as
/// many threads as in_own_arena(). At most two Made objects exist per thread, and keep their memory from one number to
/// the next.
template <class Made, class Make, class Take>
void made_in_order(std::size_t count, const Make& make, const Take& take) {
    // Aligned to 128 bytes: processors fetch two cache lines together, and threads that append must not share them.
    struct alignas(128) Numbered {
        std::size_t number = 0;
        Made made{};
    };
    if (count <= 1) {
        Made made{};
        if (count == 1) make(std::size_t(0), made), take(std::size_t(0), made);
        return;
    }
    const int threads = own_threads();
    std::size_t next = 0;
    in_order(
        threads, std::vector<Numbered>(std::min(2 * std::size_t(threads), count)),
        [&](Numbered& item) { return next < count && (item.number = next++, true); },
        [&](Numbered& item) { make(item.number, item.made); }, [&](Numbered& item) { take(item.number, item.made); });
}

}  // namespace glint
