// Work other than fits on the GPUs of a pool: how it is distributed, retried after failures, stopped and given up.
// SPDX-License-Identifier: MIT
#include "offload/run_on_devices.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <thread>

#include "glint/error.hpp"
#include "glint/progress.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

namespace glint::offload {
namespace {

using gpu::test::mib;

/// A workload of n parts, each a call of done(). It ends when all are done.
class Parts final : public Workload {
  public:
    explicit Parts(int count) : left_(count) {}
    void done() {
        const std::lock_guard lock(mutex_);
        --left_, progressed_ = std::chrono::steady_clock::now();
        changed_.notify_all();
    }

  private:
    bool all_done() const override { return left_ <= 0; }
    bool some_to_do() const override { return true; }
    int left_;
};

struct ContextAlone final : Device {
    explicit ContextAlone(gpu::Lease of) : Device(of), lease(std::move(of)), own(lease.create_context()) {}
    const gpu::Context& context() const override { return own; }
    gpu::Lease lease;
    gpu::Context own;
};

TEST(DevicePool, tells_a_gpu_that_others_use_from_one_that_fails) {
    for (const int others_use_it : {46, 999}) {
        EXPECT_TRUE(is_full(gpu::GpuError(others_use_it, ""), true)) << others_use_it;
        EXPECT_FALSE(is_full(gpu::GpuError(others_use_it, ""), false)) << others_use_it;
    }
    EXPECT_FALSE(is_full(gpu::GpuError(1, ""), true));
    const auto out_of_memory = [](std::uint64_t asked_mib, std::uint64_t free_mib) {
        return gpu::OutOfMemory(2, "", asked_mib * mib, false, free_mib * mib);
    };
    EXPECT_TRUE(is_full(out_of_memory(0, 0), true)) << "a context";
    EXPECT_TRUE(is_full(out_of_memory(1000, 1063), false)) << "a pool grows by more than was asked";
    EXPECT_FALSE(is_full(out_of_memory(1000, 1064), false)) << "there is room";
    EXPECT_FALSE(is_full(out_of_memory(1000, 0), false)) << "nobody knows";
}

class GpuPool : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        request.bytes = 64 * mib;
        request.timeout_s = 60;  // a test that waits so long has failed
        request.open = [](gpu::Lease lease) { return std::make_unique<ContextAlone>(std::move(lease)); };
        request.log = [this](const std::string& what) { log += what + '\n'; };
    }
    static std::uint64_t free_bytes() { return gpu::inventory().devices.at(0).free_bytes; }

    DeviceRequest request;
    DeviceRun run;
    std::string log;
};

TEST_F(GpuPool, each_gpu_does_a_part_and_all_are_given_back) {
    const std::uint64_t before = free_bytes();
    {
        DevicePool pool;
        Parts parts(gpu_count());
        std::mutex mutex;
        std::map<std::string, int> times;
        request.threads = request.max = pool.usable();
        request.work = [&](Device& device, bool& useful) {
            {
                const std::lock_guard lock(mutex);
                ++times[device.uuid];
            }
            parts.done();
            parts.wait_for_end(60);  // so that each part needs its own device
            useful = true;
        };
        run_on_devices(pool, request, parts, run);
        EXPECT_TRUE(run.finished);
        EXPECT_EQ(run.retries, 0);
        EXPECT_TRUE(run.opened);
        EXPECT_EQ(int(times.size()), gpu_count());
        EXPECT_EQ(pool.held(), gpu_count()) << "they stay open for later work";

        run = {};
        Parts more(1);
        request.work = [&](Device&, bool&) { more.done(); };
        run_on_devices(pool, request, more, run);
        EXPECT_TRUE(run.finished);
        EXPECT_FALSE(run.opened);
    }
    EXPECT_EQ(free_bytes(), before);
}

TEST_F(GpuPool, a_failure_costs_the_lease_and_is_tried_again) {
    DevicePool pool;
    Parts parts(2);
    int calls = 0;
    request.work = [&](Device&, bool& useful) {
        useful = true;
        parts.done();
        if (++calls == 1) throw gpu::GpuError(1, "it failed for once");
    };
    run_on_devices(pool, request, parts, run);
    EXPECT_TRUE(run.finished);
    EXPECT_EQ(run.retries, 1);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(log, "it failed for once\n");
}

// The CPU computes the rest, and the pool reports the reason.
TEST_F(GpuPool, what_achieves_nothing_for_too_long_is_given_up) {
    const std::uint64_t before = free_bytes();
    DevicePool pool;
    Parts parts(1);
    int calls = 0;
    request.timeout_s = 0.3;
    request.work = [&](Device&, bool&) {
        ++calls;
        throw gpu::GpuError(1, "it always fails");
    };
    run_on_devices(pool, request, parts, run);
    EXPECT_FALSE(run.finished);
    EXPECT_EQ(run.retries, calls - 1);
    EXPECT_TRUE(pool.why_none());
    EXPECT_EQ(pool.held(), 0);
    EXPECT_EQ(free_bytes(), before);

    request.strict = true;
    test::expect_error<gpu::GpuError>([&] { run_on_devices(pool, request, parts, run); }, {"it always fails"});
}

TEST_F(GpuPool, a_stop_and_any_other_exception_end_it) {
    DevicePool pool;
    StopFlag stop{true};
    Parts parts(1);
    request.stop = &stop;
    EXPECT_THROW(run_on_devices(pool, request, parts, run), Cancelled);
    stop = false;
    Parts others(1);
    request.work = [](Device&, bool&) { throw OptionError("nothing to do with a GPU"); };
    EXPECT_THROW(run_on_devices(pool, request, others, run), OptionError);
    EXPECT_EQ(pool.held(), 1) << "which is no reason to give the GPU back";
}

TEST_F(GpuPool, one_is_opened_for_nothing_only_when_that_is_asked_for) {
    DevicePool pool;
    Parts nothing(0);
    request.work = [](Device&, bool&) {};
    request.open_without_work = true;
    run_on_devices(pool, request, nothing, run);
    EXPECT_TRUE(run.finished);
    EXPECT_TRUE(run.opened);
    EXPECT_EQ(pool.held(), 1);
}

TEST_F(GpuPool, a_device_gives_way_to_a_shorter_request_but_not_before_its_quantum) {
    using std::chrono::steady_clock;
    ::setenv("GLINT_GPU_QUANTUM", "2", 1);
    const std::uint64_t all_but_a_context = free_bytes() - 600 * mib;
    DevicePool pool;
    const auto began = steady_clock::now();
    const auto device = pool.open(gpu::acquire({.bytes = 64 * mib, .timeout_s = 60}), request.open);
    StopFlag stop{false};
    auto other = std::async(std::launch::async, [&] {
        gpu::acquire(
            {.bytes = all_but_a_context, .gpus = gpu_count(), .timeout_s = 60, .expected_s = 0.5, .stop = &stop});
    });
    while (!device->should_give_way() && steady_clock::now() - began < std::chrono::seconds(60))
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(device->should_give_way());
    EXPECT_GE(steady_clock::now() - began, std::chrono::seconds(2));
    stop = true;
    EXPECT_THROW(other.get(), Cancelled);
    ::unsetenv("GLINT_GPU_QUANTUM");
}

TEST_F(GpuPool, a_device_gives_way_to_who_waits_still) {
    ContextAlone device(gpu::acquire({.bytes = 64 * mib, .timeout_s = 60}));
    EXPECT_FALSE(device.should_give_way()) << "not of a pool";
    const auto seen_before = [&](std::chrono::seconds ago) {
        device.shorter_waited =
            std::make_shared<const std::atomic<Device::Time>>(std::chrono::steady_clock::now() - ago);
        return device.should_give_way();
    };
    EXPECT_TRUE(seen_before(std::chrono::seconds(0)));
    EXPECT_FALSE(seen_before(std::chrono::seconds(3))) << "two heartbeats have not seen it";
}

}  // namespace
}  // namespace glint::offload
