// Leases among real processes on the simulated server, some of which are killed or stopped at critical points. The
// server refuses allocations that do not fit, so any excessive grant fails there.
// SPDX-License-Identifier: MIT
#include "tests/lease_processes.hpp"

#include <random>

using glint::gpu::lease::test::LeaseProcesses;
using glint::gpu::lease::test::LeaseWorker;

namespace {

constexpr const char* empty_8_gib = "0 holders, 0 waiters, 8188 MiB free\n";

}  // namespace

TEST_F(LeaseProcesses, take_turns_on_a_gpu_that_holds_one_of_them) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    std::vector<std::unique_ptr<LeaseWorker>> waiters;
    for (int k = 0; k < 4; ++k) waiters.push_back(start("6000 2 say"));
    for (auto& waiter : waiters) ASSERT_TRUE(waiter->says("waiting")) << waiter->output;
    EXPECT_EQ(state().find("1 holders, 4 waiters, "), 0u) << state();
    holder->end_input();
    expect_done(*holder);
    for (auto& waiter : waiters) expect_done(*waiter);
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseProcesses, wait_for_a_gpu_that_lets_one_process_in_at_a_time) {
    set("SIMGPU_COMPUTE_MODE", "3");
    auto holder = start("1000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto waiter = start("1000 1 say");
    ASSERT_TRUE(waiter->says("waiting")) << waiter->output;
    expect_done(*holder);
    expect_done(*waiter);
}

TEST_F(LeaseProcesses, a_killed_holder_makes_room) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto waiter = start("6000 1 say");
    ASSERT_TRUE(waiter->says("waiting")) << waiter->output;
    holder->signal(SIGKILL);
    EXPECT_EQ(holder->finish(), 128 + SIGKILL);
    expect_done(*waiter);
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseProcesses, killed_at_each_point_of_the_protocol_leave_nothing) {
    for (const char* point : {"before ticket", "ticket", "look", "claim", "confirmed", "holding", "leased", "context",
                              "allocated", "published", "ending"}) {
        auto doomed = std::string(point) == "before ticket" ? start("6000 1 nth 1 kill")
                                                            : start(std::string("6000 1 at ") + point + " kill");
        EXPECT_EQ(doomed->finish(), 128 + SIGKILL) << point << ": " << doomed->output;
        auto next = start("6000 1");
        expect_done(*next, point);
    }
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseProcesses, killed_while_it_waits_leaves_nothing) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto doomed = start("6000 1 at sleep kill");
    EXPECT_EQ(doomed->finish(), 128 + SIGKILL);
    auto next = start("6000 1 say");
    ASSERT_TRUE(next->says("waiting")) << next->output;
    expect_done(*holder);
    expect_done(*next);
    EXPECT_EQ(state(), empty_8_gib);
}

// A process that is refused a context on a GPU with enough memory informs this user's other processes by its slot, dead
// or alive.
TEST_F(LeaseProcesses, learn_how_many_contexts_a_gpu_holds) {
    gpus("1x80GiB");
    set("SIMGPU_CONTEXTS", "16");
    std::vector<std::unique_ptr<LeaseWorker>> holders;
    for (int k = 0; k < 16; ++k) holders.push_back(start("100 1 hold"));
    for (auto& holder : holders) ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto refused = start("100 1");
    EXPECT_EQ(refused->finish(), 1);
    EXPECT_NE(refused->output.find("FAILED: GPU 0"), std::string::npos) << refused->output;
    auto waiter = start("100 1 say");
    ASSERT_TRUE(waiter->says("waiting")) << waiter->output;
    EXPECT_NE(waiter->output.find("as many contexts as it can hold"), std::string::npos) << waiter->output;
    expect_done(*holders.front());
    expect_done(*waiter);
}

TEST_F(LeaseProcesses, learn_nothing_from_a_gpu_that_is_full_or_nearly_empty) {
    const struct {
        const char *gpu, *contexts;
        int holders;
    } cases[] = {{"1x13GiB", "16", 16}, {"1x80GiB", "3", 3}};
    for (const auto& c : cases) {
        SCOPED_TRACE(c.gpu);
        std::filesystem::remove(server / "state");
        gpus(c.gpu);
        set("SIMGPU_CONTEXTS", c.contexts);
        std::vector<std::unique_ptr<LeaseWorker>> holders;
        for (int k = 0; k < c.holders; ++k) holders.push_back(start("100 1 hold"));
        for (auto& holder : holders) ASSERT_TRUE(holder->says("holding")) << holder->output;
        for (int k = 0; k < 2; ++k) {
            auto refused = start("100 1 within 0");
            EXPECT_EQ(refused->finish(), 1);
            EXPECT_NE(refused->output.find("FAILED: GPU 0"), std::string::npos) << "tried by both: " << refused->output;
        }
        for (auto& holder : holders) expect_done(*holder);
    }
}

// Other processes get the memory that the stopped process has not been granted yet. When that process continues, it
// takes nothing from them.
TEST_F(LeaseProcesses, stopped_before_it_holds_a_lease_delays_others_for_a_bounded_time) {
    for (const char* point : {"ticket", "look", "claim", "confirmed"}) {
        auto stopped = start(std::string("6000 1 at ") + point + " stop");
        ASSERT_TRUE(stopped->stopped()) << point << ": " << stopped->output;
        auto next = start("6000 1 hold");
        ASSERT_TRUE(next->says("holding")) << point << ": " << next->output;
        stopped->signal(SIGCONT);
        expect_done(*next, point);
        expect_done(*stopped, point);
    }
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseProcesses, stopped_while_it_waits_is_passed_over) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto stopped = start("6000 1 at sleep stop");
    ASSERT_TRUE(stopped->stopped()) << stopped->output;
    auto next = start("6000 1 say");
    ASSERT_TRUE(next->says("waiting")) << next->output;
    expect_done(*holder);
    expect_done(*next);
    stopped->signal(SIGCONT);
    expect_done(*stopped);
}

TEST_F(LeaseProcesses, stopped_while_it_creates_a_context_delays_others_for_a_bounded_time) {
    auto stopped = start("2000 1 at turn stop");
    ASSERT_TRUE(stopped->stopped()) << stopped->output;
    auto next = start("2000 1");
    expect_done(*next);
    stopped->signal(SIGCONT);
    expect_done(*stopped);
}

TEST_F(LeaseProcesses, an_unusual_context_makes_no_request_impossible) {
    auto usual = start("64 1 hold");  // in the first slot
    ASSERT_TRUE(usual->says("holding")) << usual->output;
    set("SIMGPU_CONTEXT_BYTES", "3GiB");
    auto unusual = start("64 1");
    expect_done(*unusual);
    set("SIMGPU_CONTEXT_BYTES", {});
    expect_done(*usual);
    for (int k = 0; k < 2; ++k) {
        auto large = start("6000 1 within 0");
        expect_done(*large);
    }
}

// Processes that request 30 to 90 % of a card; a quarter of them are killed at a random point and started again.
TEST_F(LeaseProcesses, many_finish_though_some_are_killed_anywhere) {
    gpus("4x8GiB");
    std::mt19937 random(1);
    constexpr int count = 64;
    std::vector<std::unique_ptr<LeaseWorker>> workers;
    std::vector<bool> doomed;
    std::vector<std::string> wants;
    for (int k = 0; k < count; ++k) {
        wants.push_back(std::to_string(2400 + random() % 4800) + " 2");
        doomed.push_back(random() % 4 == 0);
        const std::string kill = " nth " + std::to_string(1 + random() % 40) + " kill";
        workers.push_back(start(wants.back() + (doomed.back() ? kill : "")));
    }
    int killed = 0;
    for (std::size_t k = 0; k < workers.size(); ++k) {
        if (!doomed[k]) {
            expect_done(*workers[k]);
            continue;
        }
        const int code = workers[k]->finish();  // the worker may have finished before
        EXPECT_TRUE(code == 0 || code == 128 + SIGKILL) << workers[k]->output;
        killed += code != 0;
        if (code != 0) expect_done(*start(wants[k]));
    }
    EXPECT_GT(killed, 2);
    EXPECT_EQ(state(), "0 holders, 0 waiters, " + std::to_string(4 * 8188) + " MiB free\n");
}
