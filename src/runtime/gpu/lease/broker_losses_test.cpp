// Requests while GPUs, slots or the whole directory are missing or vanish. With a simulated clock, GPUs and neighbours.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <sys/stat.h>

#include <utility>

#include "tests/expect_error.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;
using glint::test::expect_error;

namespace {
struct LeaseBrokerLosses : LeaseTest {};
}  // namespace

TEST_F(LeaseBrokerLosses, without_a_gpu_there_is_none) {
    NvmlProbe real;
    if (real.observe().why_none.empty()) GTEST_SKIP() << "there is a GPU";
    ::setenv("GLINT_LEASE_DIR", folder.path().c_str(), 1);
    EXPECT_THROW(glint::gpu::acquire({.timeout_s = 0}), NoGpu);
    EXPECT_FALSE(snapshot_leases().why_no_gpu.empty());
    ::unsetenv("GLINT_LEASE_DIR");
}

TEST_F(LeaseBrokerLosses, without_a_directory_it_asks_nvml_alone_and_says_so) {
    for (const std::string path : {folder / "missing" / "deeper", folder.write("file", ""), folder / "open"}) {
        if (path == folder / "open") ::mkdir(path.c_str(), 0), ::chmod(path.c_str(), 0777);
        deps.directory = std::make_shared<StateDir>(path);
        std::vector<std::string> log;
        LeaseRequest request{.bytes = 40 * gib, .timeout_s = 10};
        request.log = [&](const std::string& words) { log.push_back(words); };
        const Lease lease = acquire_in(deps, request);
        EXPECT_FALSE(lease.visible());
        ASSERT_EQ(log.size(), 1u);
        EXPECT_NE(log[0].find(path), std::string::npos) << log[0];
        EXPECT_NE(log[0].find("only NVML reports the free memory"), std::string::npos) << log[0];
        EXPECT_FALSE(lease.others_wait());
        lease.publish_held(gib);
    }
    gpu().free_bytes = 10 * gib;
    clock->at(20, [&] { gpu().free_bytes = 80 * gib; });
    EXPECT_NEAR(acquire(40, 100).waited_s(), 20, 0.7);
}

TEST_F(LeaseBrokerLosses, a_lost_gpu_ends_the_wait_and_is_not_leased) {
    probe->observation = gpus(2);
    const Lease first = acquire(60), second = acquire(60);
    const auto lose = [&](std::size_t g) {
        ObservedGpu& seen = probe->observation.gpus[g];
        seen.free_known = false, seen.lost = true, seen.nvml_why = "fell off";
        seen.gpu.free_bytes = seen.gpu.total_bytes;
    };
    clock->at(1, [&] { lose(0); });
    clock->at(3, [&] { lose(1); });
    expect_error<NoGpu>([&] { acquire(40, 100); }, {"no GPU can be used", "GPU-test-0", "GPU-test-1", "fell off"});
    EXPECT_LT(clock->seconds(), 10);
    probe->observation.gpus[1].lost = false;
    expect_error<LeaseTimeout>([&] { acquire(40); }, {"GPU-test-1"});
    expect_error<NoGpu>([&] { acquire_in(deps, {.gpus = 2}); }, {"can use 1", "GPU-test-0", "fell off"});
}

TEST_F(LeaseBrokerLosses, a_gpu_whose_memory_is_not_known_is_not_taken_for_empty) {
    probe->observation = gpus(2);
    gpu(1).free_bytes = 20 * gib;
    ObservedGpu& failing = probe->observation.gpus[0];
    failing.free_known = false, failing.nvml_why = "NVML does not answer";
    gpu(0).free_bytes = 0;  // never reported any free memory
    EXPECT_EQ(acquire(8).devices()[0].ordinal, 1);
    expect_error<LeaseTimeout>([&] { acquire(40); }, {"has 20.0 GiB of 80.0 GiB"});
    gpu(0).free_bytes = 78 * gib;  // the last reported value
    const Lease lease = acquire(40);
    EXPECT_EQ(lease.devices()[0].ordinal, 0);
    lease.publish_held(40 * gib);
    EXPECT_EQ(snapshot_in(deps).gpus[0].free_bytes, 40 * gib - context_bytes) << "no more than leases leave";
    expect_error<LeaseTimeout>([&] { acquire(40); },
                               {"GPU-test-0", "has 39.5 GiB of 80.0 GiB", "NVML does not answer"});
}

TEST_F(LeaseBrokerLosses, says_why_no_gpu_can_be_used_now) {
    const Lease holder = acquire(60);
    gpu().mode = ComputeMode::prohibited;
    std::uint64_t told = 0;
    LeaseRequest request{.bytes = 40 * gib, .timeout_s = 1};
    request.on_wait = [&](double, std::uint64_t, std::uint64_t required) { told = required; };
    expect_error<LeaseTimeout>([&] { acquire_in(deps, request); },
                               {"40.0 GiB are needed", "GPU-test-0", "compute mode is \"prohibited\""});
    EXPECT_EQ(told, 40 * gib);
}

TEST_F(LeaseBrokerLosses, a_removed_slot_is_replaced) {
    const Lease holder = acquire(60);
    int removed = 0;
    deps.test_point = [&](const char* point) {
        if (point != std::string("look") || removed++) return;
        for (const std::string& name : folder.names())
            if (name.ends_with(".1")) std::filesystem::remove(folder / name);
    };
    EXPECT_THROW(acquire(40, 3), LeaseTimeout);
    EXPECT_GT(removed, 1);
    EXPECT_EQ(acquire(10).devices().size(), 1u);
    for (const std::string& name : folder.names()) std::filesystem::remove(folder / name);
    holder.publish_held(0);  // a holder's slot also appears again, with its next publication
    EXPECT_THROW(acquire(40), LeaseTimeout);
}

TEST_F(LeaseBrokerLosses, after_a_removal_nobody_takes_what_holders_have_not_shown_again) {
    const auto holder = acquire_state(deps, {.bytes = 60 * gib, .timeout_s = 0});
    bool removed = false;
    deps.test_point = [&](const char* point) {
        if (point != std::string("look") || std::exchange(removed, true)) return;
        for (const std::string& name : folder.names()) std::filesystem::remove(folder / name);
        clock->at(clock->seconds() + 1, [&] { holder->beat(); });  // the heartbeat of the holder
    };
    EXPECT_THROW(acquire(40, 10), LeaseTimeout);
    EXPECT_TRUE(removed);
}
