// Dealing frames: each once, more to the faster, and all end together.
// SPDX-License-Identifier: MIT
#include "mpi/dealer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using glint::FrameRange;
using glint::mpi::Dealer;

namespace {

std::int64_t frames(const FrameRange& range) { return range.end - range.begin; }

/// Ranks of certain speeds, simulated: who is done first asks next.
struct Race {
    std::vector<double> frames_per_s;
    std::int64_t at_once;
    std::vector<std::int64_t> done{};
    std::vector<double> ended_s{};
    std::vector<FrameRange> dealt{};

    void run(std::vector<FrameRange> to_do) {
        Dealer dealer(std::move(to_do), int(frames_per_s.size()));
        done.assign(frames_per_s.size(), 0);
        ended_s.assign(frames_per_s.size(), 0);
        std::vector<bool> home(frames_per_s.size(), false);
        for (std::size_t at_home = 0; at_home < home.size();) {
            std::size_t next = 0;
            for (std::size_t k = 0; k < home.size(); ++k)
                if (home[next] || (!home[k] && ended_s[k] < ended_s[next])) next = k;
            const FrameRange chunk = dealer.deal(int(next), at_once, ended_s[next]);
            if (frames(chunk) <= 0) {
                home[next] = true, ++at_home;
                continue;
            }
            dealt.push_back(chunk);
            done[next] += frames(chunk);
            ended_s[next] += double(frames(chunk)) / frames_per_s[next];
        }
    }
};

}  // namespace

TEST(Dealer, deals_each_frame_of_every_gap_once) {
    Race race{.frames_per_s = {100, 1000, 300}, .at_once = 16};
    const std::vector<FrameRange> gaps{{5, 300}, {301, 302}, {1000, 4000}};
    race.run(gaps);
    std::sort(race.dealt.begin(), race.dealt.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    std::vector<FrameRange> joined{race.dealt.front()};
    for (std::size_t k = 1; k < race.dealt.size(); ++k)
        if (race.dealt[k].begin == joined.back().end)
            joined.back().end = race.dealt[k].end;
        else
            joined.push_back(race.dealt[k]);
    ASSERT_EQ(joined.size(), gaps.size());
    for (std::size_t k = 0; k < gaps.size(); ++k) {
        EXPECT_EQ(joined[k].begin, gaps[k].begin);
        EXPECT_EQ(joined[k].end, gaps[k].end);
    }
}

// The last chunk that anybody has takes at most twice chunk_s, or what keeps its threads busy a quarter of once: so no
// rank ends later than that after the others.
TEST(Dealer, ranks_end_together_however_different_they_are) {
    Race race{.frames_per_s = {50, 5000, 200, 1000}, .at_once = 64};
    race.run({{0, 200000}});
    const auto [first, last] = std::minmax_element(race.ended_s.begin(), race.ended_s.end());
    EXPECT_LE(*last - *first, 2 * Dealer::chunk_s);
    EXPECT_GT(race.done[1], 10 * race.done[2]);
    EXPECT_LT(race.dealt.size(), 1000u) << "few messages";
}

TEST(Dealer, more_ranks_than_frames_leave_some_without) {
    Dealer dealer({{0, 2}}, 4);
    EXPECT_EQ(frames(dealer.deal(0, 1, 0)), 1);
    EXPECT_EQ(frames(dealer.deal(1, 1, 0)), 1);
    EXPECT_EQ(frames(dealer.deal(2, 1, 0)), 0);
}

TEST(Dealer, closed_it_deals_nothing) {
    Dealer dealer({{0, 100}}, 2);
    EXPECT_GT(frames(dealer.deal(0, 8, 0)), 0);
    dealer.close();
    EXPECT_EQ(frames(dealer.deal(1, 8, 0)), 0);
    EXPECT_EQ(dealer.left(), 0);
}
