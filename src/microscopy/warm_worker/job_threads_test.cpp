// Work that runs simultaneously, and the calls that follow it.
// SPDX-License-Identifier: MIT
#include "warm_worker/job_threads.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <barrier>

namespace glint::warm_worker {

TEST(JobThreads, work_at_the_same_time_and_call_back_on_the_callers_thread) {
    constexpr int at_once = 5;
    std::barrier all_there(at_once);
    JobThreads threads;
    int settled = 0;
    for (int round = 1; round <= 3; ++round) {  // the threads of the first round also run the other rounds
        for (int k = 0; k < at_once; ++k)
            threads.run([&] { all_there.arrive_and_wait(); },
                        [&, caller = std::this_thread::get_id()] {
                            EXPECT_EQ(std::this_thread::get_id(), caller);
                            ++settled;
                        });
        while (settled < round * at_once) {
            pollfd wait{threads.descriptor(), POLLIN, 0};
            ASSERT_EQ(::poll(&wait, 1, 60000), 1);
            threads.settle();
        }
    }
    pollfd wait{threads.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 0), 0) << "nothing is left to settle";
}

TEST(JobThreads, what_has_begun_is_ended_first) {
    std::barrier begun(2);
    bool done = false;
    {
        JobThreads threads;
        threads.run(
            [&] {
                begun.arrive_and_wait();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                done = true;
            },
            [] { FAIL() << "nobody asked for it"; });
        begun.arrive_and_wait();
    }
    EXPECT_TRUE(done);
}

}  // namespace glint::warm_worker
