// Tests of the assignment of frames: each frame once, more to faster ranks, and all ranks end together.
// SPDX-License-Identifier: MIT
#include "mpi/frame_scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using glint::FrameRange;
using glint::mpi::FrameScheduler;

namespace {

std::int64_t frames(const FrameRange& range) { return range.end - range.begin; }

/// Simulated ranks of given speeds: the one that finishes first asks next.
struct Race {
    std::vector<double> frames_per_s;
    std::int64_t at_once;
    std::vector<std::int64_t> done{};
    std::vector<double> ended_s{};
    std::vector<FrameRange> assigned{};

    void run(std::vector<FrameRange> to_do) {
        FrameScheduler scheduler(std::move(to_do), int(frames_per_s.size()));
        done.assign(frames_per_s.size(), 0);
        ended_s.assign(frames_per_s.size(), 0);
        std::vector<bool> finished(frames_per_s.size(), false);
        for (std::size_t count = 0; count < finished.size();) {
            std::size_t next = 0;
            for (std::size_t k = 0; k < finished.size(); ++k)
                if (finished[next] || (!finished[k] && ended_s[k] < ended_s[next])) next = k;
            const FrameRange chunk = scheduler.assign(int(next), at_once, ended_s[next]);
            if (frames(chunk) <= 0) {
                finished[next] = true, ++count;
                continue;
            }
            assigned.push_back(chunk);
            done[next] += frames(chunk);
            ended_s[next] += double(frames(chunk)) / frames_per_s[next];
        }
    }
};

}  // namespace

TEST(FrameScheduler, assigns_each_frame_of_every_gap_once) {
    Race race{.frames_per_s = {100, 1000, 300}, .at_once = 16};
    const std::vector<FrameRange> gaps{{5, 300}, {301, 302}, {1000, 4000}};
    race.run(gaps);
    std::sort(race.assigned.begin(), race.assigned.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    std::vector<FrameRange> joined{race.assigned.front()};
    for (std::size_t k = 1; k < race.assigned.size(); ++k)
        if (race.assigned[k].begin == joined.back().end)
            joined.back().end = race.assigned[k].end;
        else
            joined.push_back(race.assigned[k]);
    ASSERT_EQ(joined.size(), gaps.size());
    for (std::size_t k = 0; k < gaps.size(); ++k) {
        EXPECT_EQ(joined[k].begin, gaps[k].begin);
        EXPECT_EQ(joined[k].end, gaps[k].end);
    }
}

// A rank's last chunk takes at most twice chunk_s, or a quarter of the time of a chunk that occupies its threads once.
// This bounds the time by which a rank can end after the other ranks.
TEST(FrameScheduler, ranks_of_any_speed_end_together) {
    Race race{.frames_per_s = {50, 5000, 200, 1000}, .at_once = 64};
    race.run({{0, 200000}});
    const auto [first, last] = std::minmax_element(race.ended_s.begin(), race.ended_s.end());
    EXPECT_LE(*last - *first, 2 * FrameScheduler::chunk_s);
    EXPECT_GT(race.done[1], 10 * race.done[2]);
    EXPECT_LT(race.assigned.size(), 1000u) << "few messages";
}

TEST(FrameScheduler, more_ranks_than_frames_leave_some_without) {
    FrameScheduler scheduler({{0, 2}}, 4);
    EXPECT_EQ(frames(scheduler.assign(0, 1, 0)), 1);
    EXPECT_EQ(frames(scheduler.assign(1, 1, 0)), 1);
    EXPECT_EQ(frames(scheduler.assign(2, 1, 0)), 0);
}

TEST(FrameScheduler, assigns_nothing_once_closed) {
    FrameScheduler scheduler({{0, 100}}, 2);
    EXPECT_GT(frames(scheduler.assign(0, 8, 0)), 0);
    scheduler.close();
    EXPECT_EQ(frames(scheduler.assign(1, 8, 0)), 0);
    EXPECT_EQ(scheduler.left(), 0);
}
