// Sessions: where operations run, what is recorded, and what remains on a GPU.
// SPDX-License-Identifier: MIT
#include "glint/offload/session.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <vector>

#include "glint/error.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/offload/accelerate.hpp"
#include "gpu/gpu_fixture.hpp"
#include "offload/gpu_forecast.hpp"
#include "offload/machine.hpp"

namespace glint::offload {
namespace {

using gpu::test::mib;

constexpr Operation operation{"test operation", "things", 1, 1, 1000};

Work work_of(double n) {
    Work work;
    work.operation = &operation, work.size = n, work.flops = n;
    work.bytes_to_gpu = std::uint64_t(4 * n), work.bytes_from_gpu = std::uint64_t(4 * n);
    return work;
}

const OperationStatistics& of(const Statistics& all) { return all.operations.at(0); }

TEST(OffloadSession, on_the_cpu_needs_no_gpu_and_counts) {
    SessionOptions options;
    options.choice = Backend::cpu;
    Session session(options);
    int calls = 0;
    for (int k = 0; k < 3; ++k)
        EXPECT_EQ(session.run(
                      work_of(10), [&] { ++calls; }, [] { FAIL(); }),
                  Backend::cpu);
    EXPECT_EQ(calls, 3);
    EXPECT_FALSE(session.gpu_open());
    const Statistics statistics = session.statistics();
    EXPECT_EQ(of(statistics).name, "test operation");
    EXPECT_EQ(of(statistics).cpu.calls, 3u);
    EXPECT_EQ(of(statistics).cpu.timed_calls, 3u);
    EXPECT_EQ(of(statistics).cpu.transfers, 0u);
    EXPECT_EQ(of(statistics).gpu_share(), 0);
    const auto json = nlohmann::json::parse(as_json(statistics));
    EXPECT_EQ(json.at("operations").at(0).at("cpu").at("calls"), 3);
    session.reset_statistics();
    EXPECT_TRUE(session.statistics().operations.empty());
}

TEST(OffloadSession, hands_on_what_the_function_throws) {
    SessionOptions options;
    options.choice = Backend::cpu;
    Session session(options);
    EXPECT_THROW(session.run(
                     work_of(1), [] { throw InputError("no"); }, [] {}),
                 InputError);
}

TEST(OffloadAccelerate, is_the_function_it_was_made_of) {
    SessionOptions options;
    options.choice = Backend::cpu;
    Session session(options);
    const auto twice = accelerate(
        session, [](int x) { return 2 * x; }, [](Session&, int) { return -1; }, [](int x) { return work_of(x); });
    EXPECT_EQ(twice(21), 42);
    int sum = 0;
    accelerate(
        session, [&](int x) { sum += x; }, [](Session&, int) {}, [](int x) { return work_of(x); })(5);
    EXPECT_EQ(sum, 5);
}

class GpuOffload : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing is kept
        options_.gpu_memory_bytes = 64 * mib;
        options_.gpu_timeout_s = 60;
    }
    Session session(Backend choice) {
        options_.choice = choice;
        return Session(options_);
    }
    static std::uint64_t free_bytes() { return gpu::inventory().devices.at(0).free_bytes; }

    SessionOptions options_;
};

[[noreturn]] void run_out_of_memory() { throw gpu::OutOfMemory(2, "no room", 1000, false, 10); }

TEST_F(GpuOffload, opens_the_gpu_when_it_is_chosen_and_gives_it_back) {
    const std::uint64_t before = free_bytes();
    {
        Session s = session(Backend::gpu);
        EXPECT_FALSE(s.gpu_open());
        bool used = false;
        EXPECT_EQ(s.run(
                      work_of(10), [] { FAIL(); },
                      [&] {
                          const gpu::Buffer<float> buffer(s.stream(), 1000);
                          used = true;
                      }),
                  Backend::gpu);
        EXPECT_TRUE(used);
        EXPECT_TRUE(s.gpu_open());
        EXPECT_LT(free_bytes(), before);
        EXPECT_EQ(of(s.statistics()).gpu.transfers, 2u);
        EXPECT_EQ(of(s.statistics()).gpu.bytes_up, 40u);
        EXPECT_EQ(of(s.statistics()).gpu_share(), 1);
        s.close_gpu();
        EXPECT_EQ(free_bytes(), before);
        s.context();
    }
    EXPECT_EQ(free_bytes(), before);
}

TEST_F(GpuOffload, what_the_gpu_has_no_memory_for_the_cpu_does) {
    Session s = session(Backend::gpu);
    bool on_cpu = false;
    EXPECT_EQ(s.run(
                  work_of(10), [&] { on_cpu = true; }, [] { run_out_of_memory(); }),
              Backend::cpu);
    EXPECT_TRUE(on_cpu);
    const Statistics statistics = s.statistics();
    EXPECT_EQ(statistics.fallbacks, 1u);
    EXPECT_EQ(statistics.last_fallbacks.at(0).operation, "test operation");
    EXPECT_EQ(statistics.last_fallbacks.at(0).bytes_asked, 1000u);
    EXPECT_EQ(of(statistics).cpu.calls, 1u);
    s.set_oom_safe(false);
    EXPECT_FALSE(s.oom_safe());
    EXPECT_THROW(s.run(
                     work_of(10), [] { FAIL(); }, [] { run_out_of_memory(); }),
                 gpu::OutOfMemory);
    EXPECT_TRUE(s.gpu_open());
}

TEST_F(GpuOffload, other_failures_go_to_the_cpu_when_that_is_allowed) {
    const auto fails = [] { throw gpu::GpuError(999, "something else"); };
    Session strict = session(Backend::gpu);
    EXPECT_THROW(strict.run(
                     work_of(10), [] { FAIL(); }, fails),
                 gpu::GpuError);
    EXPECT_EQ(strict.statistics().fallbacks, 0u);
}

TEST_F(GpuOffload, a_failure_that_leaves_the_cpu_is_reported_once_for_each_reason) {
    std::vector<std::string> told;
    options_.warn = [&](const std::string& words) { told.push_back(words); };
    Session s = session(Backend::gpu);
    for (int k = 0; k < 3; ++k)
        s.run(
            work_of(10), [] {}, [k] { throw gpu::OutOfMemory(2, "no room for " + std::to_string(k), 1000, true); });
    ASSERT_EQ(told.size(), 1u);
    for (const char* part : {"test operation", "no room for 0", "GLINT_GPU_MEMORY_LIMIT"})
        EXPECT_NE(told[0].find(part), std::string::npos) << told[0];
    s.fall_back("mine", gpu::GpuError(999, "something else"));
    EXPECT_EQ(told.size(), 2u);
    const auto second_time = oom_safe(
        s, "mine", [](Session&, int k) { return k > 0 ? k : (run_out_of_memory(), 0); }, [](int) { return -1; });
    EXPECT_EQ(second_time(1), 1);
    EXPECT_EQ(told.size(), 2u);
}

TEST_F(GpuOffload, a_function_may_use_the_session_that_runs_it) {
    Session s = session(Backend::gpu);
    Work work = work_of(10);
    work.bytes_from_gpu = 0;  // so that it is synchronized to be timed
    EXPECT_EQ(s.run(
                  work, [] { FAIL(); },
                  [&] {
                      s.reset_statistics();
                      s.close_gpu();
                  }),
              Backend::gpu);
    EXPECT_FALSE(s.gpu_open());
    EXPECT_EQ(of(s.statistics()).gpu.calls, 1u);
}

TEST_F(GpuOffload, a_gpu_that_is_hardly_used_is_given_to_others_after_a_quantum) {
    ::setenv("GLINT_GPU_QUANTUM", "1", 1);
    const auto work_for = [&](Session& s, std::chrono::milliseconds busy, std::chrono::milliseconds idle) {
        const auto began = std::chrono::steady_clock::now();
        s.context();
        while (s.gpu_open() && std::chrono::steady_clock::now() - began < std::chrono::milliseconds(1500)) {
            s.run(
                work_of(10), [] { FAIL(); }, [&] { std::this_thread::sleep_for(busy); });
            std::this_thread::sleep_for(idle);
            s.make_way();
            if (!s.gpu_open()) {
                EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
            }
        }
    };
    using std::chrono::milliseconds;
    options_.gpu_timeout_s = std::numeric_limits<double>::infinity();
    Session s = session(Backend::gpu);
    work_for(s, milliseconds(10), milliseconds(50));
    EXPECT_FALSE(s.gpu_open());
    work_for(s, milliseconds(300), milliseconds(1));
    EXPECT_TRUE(s.gpu_open()) << "it needs the GPU";
    s.close_gpu();
    options_.gpu_timeout_s = 1;
    Session impatient = session(Backend::gpu);
    work_for(impatient, milliseconds(10), milliseconds(50));
    EXPECT_TRUE(impatient.gpu_open()) << "it might not get one again in time";
    ::unsetenv("GLINT_GPU_QUANTUM");
}

TEST_F(GpuOffload, an_idle_gpu_is_kept_while_something_lives_there) {
    Session s = session(Backend::gpu);
    {
        const gpu::Buffer<float> buffer(s.stream(), 1000);
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        s.make_way();
        EXPECT_TRUE(s.gpu_open());
    }
    s.synchronize();
    s.make_way();
    EXPECT_FALSE(s.gpu_open());
}

TEST_F(GpuOffload, whoever_waits_for_a_gpu_is_asked_whether_to_go_on) {
    const int all = int(gpu::inventory().devices.size());
    const gpu::Lease taken =
        gpu::acquire({.bytes = gpu::inventory().devices.at(0).total_bytes * 2 / 3, .gpus = all, .timeout_s = 60});
    options_.gpu_memory_bytes = taken.bytes();
    options_.on_wait = [](double, std::uint64_t, std::uint64_t) { throw Cancelled("enough"); };
    Session s = session(Backend::gpu);
    EXPECT_THROW(s.run(
                     work_of(10), [] { FAIL(); }, [] { FAIL(); }),
                 Cancelled);
    EXPECT_THROW(s.context(), Cancelled);
    EXPECT_TRUE(gpu::snapshot_leases().waiters.empty());
}

TEST_F(GpuOffload, a_function_is_tried_again_after_a_clean_up) {
    Session s = session(Backend::gpu);
    int attempts = 0;
    const auto second_time = oom_safe(
        s, "mine",
        [&](Session&, int x) {
            if (++attempts == 1) run_out_of_memory();
            return x;
        },
        [](int) { return -1; });
    EXPECT_EQ(second_time(7), 7);
    EXPECT_EQ(attempts, 2);
    const auto never = oom_safe(
        s, "mine", [](Session&, int) -> int { run_out_of_memory(); }, [](int x) { return 10 * x; });
    EXPECT_EQ(never(7), 70);
    EXPECT_EQ(s.statistics().failures, 3u);
    EXPECT_EQ(s.statistics().fallbacks, 1u) << "falls to the CPU, not attempts";
}

TEST_F(GpuOffload, work_that_can_be_cut_is_done_once_and_in_order) {
    Session s = session(Backend::gpu);
    for (const std::int64_t room : {100, 33, 7, 0}) {
        std::vector<std::int64_t> done;
        const auto note = [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t k = 0; k < count; ++k) done.push_back(first + k);
        };
        const std::int64_t by_gpu = in_pieces(
            s, "mine", 100, 4,
            [&](std::int64_t first, std::int64_t count) {
                if (count > room) run_out_of_memory();
                note(first, count);
            },
            note);
        std::vector<std::int64_t> expected(100);
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(done, expected) << "room for " << room;
        EXPECT_EQ(by_gpu, room > 0 ? 100 : 0);
    }
}

// The time to open a closed GPU counts, until the savings forgone are as large.
TEST_F(GpuOffload, the_caller_is_asked_for_memory_between_operations) {
    gpu::Buffer<char> garbage;
    options_.on_pressure = [&] {
        const std::uint64_t freed = garbage.bytes();
        garbage = {};
        return freed;
    };
    Session s = session(Backend::gpu);
    const auto run = [&](std::uint64_t bytes) {
        s.run(
            work_of(10), [] { FAIL(); },
            [&] {
                if (bytes) garbage = gpu::Buffer<char>(s.stream(), bytes);
                s.stream().synchronize();
            });
    };
    run(30 * mib);
    run(0);
    EXPECT_TRUE(bool(garbage)) << "there is room";
    garbage = {};
    s.stream().synchronize();
    run(60 * mib);
    run(0);
    EXPECT_FALSE(bool(garbage));
    EXPECT_EQ(s.context().statistics().retries, 0u) << "no allocation had to fail";
    garbage = gpu::Buffer<char>(s.stream(), 60 * mib);
    EXPECT_NO_THROW(gpu::Buffer<char>(s.stream(), 60 * mib)) << "and called when an allocation fails";
    EXPECT_FALSE(bool(garbage));
}

TEST_F(GpuOffload, a_gpu_is_opened_once_it_would_have_paid_off) {
    const gpu::Inventory inventory = gpu::inventory();
    Session s = session(Backend::automatic);
    for (const gpu::Device& device : inventory.devices) {
        const auto machine = machine_with(device.uuid, inventory.driver_version);
        machine->forget();
        Constants c = machine->constants();
        c.up_pinned = c.up_pageable = c.down_pinned = c.down_pageable = 1e10;
        c.context_s = 0.015, c.cpu_flops = 1e6, c.gpu_flops = 1e12;  // 5000 things: 5 ms on the CPU
        machine->set(c);
    }
    int on_cpu = 0, on_gpu = 0;
    for (int k = 0; k < 60; ++k)
        s.run(
            work_of(5000),
            [&] {
                ++on_cpu;
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            },
            [&] { ++on_gpu; });
    // GPUs are queried once 0.1 s are forgone, after 20 calls of 5 ms, or fewer if a call takes longer. That is more
    // than creating a context takes.
    EXPECT_GE(on_cpu, 1);
    EXPECT_LE(on_cpu, 21);
    EXPECT_EQ(on_cpu + on_gpu, 60);
    EXPECT_TRUE(s.gpu_open());
}

TEST_F(GpuOffload, a_forecast_is_for_the_memory_that_was_asked_for) {
    std::uint64_t all = 0;
    for (const gpu::Device& device : gpu::inventory().devices) all = std::max(all, device.total_bytes);
    ForecastCache forecasts;
    EXPECT_EQ(forecasts.get(mib).wait_s, 0);
    EXPECT_GT(forecasts.get(all).wait_s, 0);
    EXPECT_EQ(forecasts.get(mib).wait_s, 0);
}

TEST_F(GpuOffload, a_gpu_that_cannot_be_had_is_left_alone) {
    if (!gpu::test::set_stranger()) GTEST_SKIP() << "nobody else can be made to use a real GPU";
    for (const gpu::Device& device : gpu::inventory().devices)
        gpu::test::set_stranger()(device.ordinal, std::uint64_t(0.98 * double(device.total_bytes)), 10);
    options_.gpu_timeout_s = 0.05;
    Session easy = session(Backend::automatic), strict = session(Backend::gpu);
    EXPECT_EQ(easy.run(
                  work_of(1e9), [] {}, [] { FAIL(); }),
              Backend::cpu);
    EXPECT_THROW(strict.run(
                     work_of(10), [] {}, [] { FAIL(); }),
                 gpu::LeaseTimeout);
    for (const gpu::Device& device : gpu::inventory().devices) gpu::test::set_stranger()(device.ordinal, 0, 0);
}

}  // namespace
}  // namespace glint::offload
