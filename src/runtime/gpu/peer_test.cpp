// Copies between GPUs, and buffers that another GPU can or cannot access.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include <algorithm>
#include <cstdlib>

#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

using namespace glint::gpu;
using namespace glint::gpu::test;
using glint::test::expect_error;

namespace {

struct GpuPeers : OneGpuTest {
    void SetUp() override {
        OneGpuTest::SetUp();
        if (!IsSkipped() && gpu_count() < 2) GTEST_SKIP() << "there is one GPU only";
    }
    static bool can_reach() {
        int yes = 0;
        check(driver().cuDeviceCanAccessPeer(&yes, 1, 0), "cuDeviceCanAccessPeer");
        return yes != 0;
    }
};

}  // namespace

TEST_F(GpuPeers, copies_between_gpus_arrive_and_unreachable_ones_are_named) {
    const Context second(1, {.limit_bytes = 512 * mib});
    const Stream there(second);
    const std::size_t n = 6000000;  // several chunks if staged
    Buffer<unsigned> here(*stream, n), far(there, n);
    upload(*stream, here, ramp(n, 5));
    copy(there, far, here);
    EXPECT_TRUE(downloaded(there, far) == ramp(n, 5));
    fill(there, far, 9);
    copy(there, here, far);
    EXPECT_EQ(downloaded(*stream, here).back(), 0x09090909u);
    const auto from_there = [&] { here.read_on(there); };
    if (std::getenv("SIMGPU_NO_PEER") || std::getenv("SIMGPU_PEER_COPY_LOST")) {
        expect_error<GpuError>(from_there, {"GPU 0", "GPU 1", "cannot reach", "stream of GPU 0", "copy()"});
    } else if (set_stranger()) {
        EXPECT_NO_THROW(from_there()) << "simulated GPUs reach each other";
    }
}

TEST_F(GpuPeers, copies_in_the_order_of_another_contexts_stream_on_the_same_gpu) {
    const Context second(1, {.limit_bytes = 512 * mib}), apart(0, {.limit_bytes = 64 * mib, .separate = true});
    const Stream there(second), beside(apart);
    const std::size_t n = 6000000;
    Buffer<unsigned> here(*stream, n), far(there, n);
    upload(*stream, here, ramp(n, 7));
    copy(beside, far, here);
    EXPECT_TRUE(downloaded(there, far) == ramp(n, 7));
    fill(there, far, 9);
    copy(beside, here, far);
    EXPECT_EQ(downloaded(*stream, here).back(), 0x09090909u);
}

TEST_F(GpuPeers, without_room_for_the_trial_nothing_is_decided) {
    if (!can_reach()) GTEST_SKIP() << "these GPUs do not reach each other";
    const Context small(0, {.limit_bytes = 64 * mib}), second(1, {.limit_bytes = 512 * mib});
    const Stream mine(small), there(second);
    Buffer<char> all(mine, 64 * mib), far(there, 64 * mib);
    fill(mine, all, 5);
    expect_error<OutOfMemory>([&] { all.read_on(there); }, {"GPU 0", "GPU 1", "no room"});
    copy(there, far, all);  // staged
    EXPECT_EQ(downloaded(there, far).back(), 5);
    all = {};
    mine.synchronize();
    small.trim();
    const Buffer<char> next(mine, mib);
    EXPECT_NO_THROW(next.read_on(there));
}

TEST_F(GpuPeers, a_context_made_anew_is_let_in_anew) {
    if (!can_reach()) GTEST_SKIP() << "these GPUs do not reach each other";
    std::vector<std::string> log;
    const Context first(0, {.limit_bytes = 64 * mib, .log = [&](const std::string& line) { log.push_back(line); }});
    const Stream mine(first);
    const Buffer<char> here(mine, mib);
    for (int round = 0; round < 2; ++round) {
        const Context second(1, {.limit_bytes = 64 * mib});
        here.read_on(Stream(second));
        here.read_on(Stream(second));
    }
    EXPECT_EQ(std::count_if(log.begin(), log.end(),
                            [](const std::string& line) { return line.find(" reaches ") != std::string::npos; }),
              2);
}
