// Fixture for tests of leases, with an injected directory, GPUs and clock.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <map>

#include "gpu/lease/lease_state.hpp"
#include "gpu/lease/queue.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::gpu::lease::test {

constexpr std::uint64_t gib = std::uint64_t(1) << 30;
constexpr std::uint64_t context_bytes = gib / 2;

/// Simulated time: advances only during wait(), and runs the events that are due.
class TestClock final : public Clock {
  public:
    std::uint64_t now_ns() override { return now_; }
    void wait(int wake, double seconds) override {
        ++waits;
        pollfd waker{wake, POLLIN, 0};
        if (::poll(&waker, 1, 0) > 0) return;
        const std::uint64_t until = now_ + std::max<std::uint64_t>(1, std::uint64_t(seconds * 1e9));
        if (!events_.empty() && events_.begin()->first <= until) {
            auto event = events_.extract(events_.begin());
            now_ = std::max(now_, event.key());
            event.mapped()();
        } else {
            now_ = until;
        }
    }
    /// Schedules an event, in seconds since the start.
    void at(double seconds, std::function<void()> event) {
        events_.emplace(start + std::uint64_t(seconds * 1e9), std::move(event));
    }
    double seconds() const { return double(now_ - start) / 1e9; }
    void advance(double seconds) { now_ += std::uint64_t(seconds * 1e9); }
    long waits = 0;

  private:
    static constexpr std::uint64_t start = 1'000'000'000'000;
    std::uint64_t now_ = start;
    std::multimap<std::uint64_t, std::function<void()>> events_;
};

class TestProbe final : public GpuProbe {
  public:
    Observation observation;
    long looks = 0;
    Observation observe() override {
        ++looks;
        return observation;
    }
};

/// Returns empty GPUs of 80 GiB.
inline Observation gpus(int count) {
    Observation observation;
    for (int g = 0; g < count; ++g) {
        ObservedGpu seen;
        seen.id = GpuId{static_cast<unsigned char>(g + 1)};
        seen.name = "Test GPU";
        seen.ordinal = g;
        seen.usable = seen.free_known = true;
        seen.gpu.uuid = "GPU-test-" + std::to_string(g);
        seen.gpu.total_bytes = seen.gpu.free_bytes = 80 * gib;
        seen.gpu.context_bytes = context_bytes;
        observation.gpus.push_back(seen);
    }
    if (count == 0) observation.why_none = "no GPU in this test";
    return observation;
}

struct LeaseTest : ::testing::Test {
    glint::test::TemporaryFolder folder;
    std::shared_ptr<TestClock> clock = std::make_shared<TestClock>();
    std::shared_ptr<TestProbe> probe = std::make_shared<TestProbe>();
    Dependencies deps;

    LeaseTest() {
        probe->observation = gpus(1);
        deps.directory = std::make_shared<StateDir>(folder.path());
        deps.probe = probe;
        deps.clock = clock;
    }
    Gpu& gpu(std::size_t g = 0) { return probe->observation.gpus[g].gpu; }
    StateDir::Scan scan() const { return deps.directory->scan(); }
    Lease acquire(std::uint64_t gibibytes, double timeout_s = 0) {
        return acquire_in(deps, {.bytes = gibibytes * gib, .timeout_s = timeout_s});
    }
    /// Returns a slot in the given state, as another process would publish it.
    Slot participant(State state, std::uint64_t gibibytes, double arrived_s = 0, std::size_t g = 0) {
        std::string why;
        Slot slot = Slot::take(*deps.directory, why).value();
        slot.record.state = state;
        slot.record.gpus = 1;
        slot.record.need_bytes = gibibytes * gib;
        slot.record.arrived_ns = clock->now_ns() + std::uint64_t(arrived_s * 1e9);
        slot.record.since_ns = slot.record.beat_ns = clock->now_ns();
        slot.record.share_count = 1;
        const bool waits = state == State::waiting;
        slot.record.shares[0] = {probe->observation.gpus[g].id, waits ? 0 : gibibytes * gib + context_bytes, 0};
        slot.publish();
        return slot;
    }
};

}  // namespace glint::gpu::lease::test
