// Tests the simulated GPU server with programs that run in separate processes (programs.cpp).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "programs.hpp"
#include "spawn.hpp"

namespace {

constexpr int exit_bug = 86, exit_leak = 87;

// Schedules and seeds that defer operations. Without `eager`, which hides the errors that these tests must find.
const std::vector<Environment>& late_schedules() {
    static const auto all = [] {
        std::vector<Environment> v{{{"SIMGPU_SCHEDULE", "lazy"}, {"SIMGPU_SEED", "1"}},
                                   {{"SIMGPU_SCHEDULE", "lazy"}, {"SIMGPU_SEED", "2"}}};
        for (const char* schedule : {"pct", "random"})
            for (int seed = 1; seed <= 5; ++seed)
                v.push_back({{"SIMGPU_SCHEDULE", schedule}, {"SIMGPU_SEED", std::to_string(seed)}});
        return v;
    }();
    return all;
}

std::string name_of(const Environment& e) { return e.at("SIMGPU_SCHEDULE") + ' ' + e.at("SIMGPU_SEED"); }

Environment operator+(Environment a, const Environment& b) {
    a.insert(b.begin(), b.end());
    return a;
}

/// Runs one program on a new server.
Ended run(const std::vector<std::string>& program, const Environment& environment = {}) {
    return TestServer(environment).run(program);
}

// ---- Order

TEST(Order, ACorrectPipelineIsRightUnderEverySchedule) {
    auto schedules = late_schedules();
    schedules.push_back({{"SIMGPU_SCHEDULE", "eager"}, {"SIMGPU_SEED", "1"}});
    for (const Environment& schedule : schedules) {
        const Ended ended = run({"pipeline", "none"}, schedule + Environment{{"SIMGPU_LEAKS", "1"}});
        EXPECT_EQ(ended.exit_code, 0) << name_of(schedule) << ": " << ended.output;
    }
}

struct Planted {
    const char *bug, *message;
};
class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsCaughtUnderEverySchedule) {
    const auto& [bug, message] = GetParam();
    for (const Environment& schedule : late_schedules()) {
        const Ended ended = run({"pipeline", bug}, schedule);
        EXPECT_TRUE(ended.says(message)) << bug << ", " << name_of(schedule) << ": " << ended.output;
    }
}

INSTANTIATE_TEST_SUITE_P(Five, PlantedBug,
                         testing::Values(Planted{"missing_wait", "axpy on stream 2 is not ordered after cuMemcpyHtoD"},
                                         Planted{"wait_before_record", "is not ordered after cuMemcpyHtoDAsync"},
                                         Planted{"early_free", "cuMemFreeAsync on stream 1 is not ordered after axpy"},
                                         Planted{"slot_reused", "pinned memory was changed before the copy"},
                                         Planted{"early_read", "values are wrong"}),
                         [](const auto& planted) { return planted.param.bug; });

// Late execution finds most missing waits without vector clocks, but not under every seed. Immediate execution finds no
// missing wait.
TEST(Order, LateExecutionAloneFindsAMissingWait) {
    int wrong = 0;
    const Environment unchecked = {{"SIMGPU_RACECHECK", "0"}};
    for (const Environment& schedule : late_schedules())
        wrong += run({"pipeline", "missing_wait"}, schedule + unchecked).exit_code == 1;
    EXPECT_GT(wrong, 0);
    EXPECT_EQ(run({"pipeline", "missing_wait"}, unchecked + Environment{{"SIMGPU_SCHEDULE", "eager"}}).exit_code, 0);
}

TEST(Order, CopiesMayMeetInPinnedMemory) {
    for (const Environment& schedule : late_schedules())
        EXPECT_EQ(run({"through_pinned"}, schedule).output, "0 0\n") << name_of(schedule);
}

TEST(Order, EventsHaveTimes) { EXPECT_EQ(run({"times"}).output, "early 600, positive, timeless 400\n"); }

// ---- Memory

TEST(Memory, OfAKilledProcessComesBack) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x8GiB"}});
    const std::string all = server.run({"free"}).output;
    Running first({"hold", "1024"}, server.with({})), second({"hold", "2048"}, server.with({}));
    ASSERT_TRUE(first.ready() && second.ready());
    EXPECT_EQ(server.run({"free"}).output, "free " + std::to_string(8192 - 4 - 3072 - 2 * 527) + " MiB\n");
    second.kill();
    EXPECT_EQ(second.finish().signal, SIGKILL);
    EXPECT_EQ(server.run({"free"}).output, "free " + std::to_string(8192 - 4 - 1024 - 527) + " MiB\n");
    EXPECT_TRUE(first.finish().says("given back"));
    EXPECT_EQ(server.run({"free"}).output, all);
}

// Measured: 0.13 s after kill -9, with 64 GiB.
TEST(Memory, OfAKilledProcessTakesItsTimeToComeBack) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x8GiB"}, {"SIMGPU_RELEASE_DELAY", "0.3"}});
    const std::string all = server.run({"free"}).output;
    Running first({"hold", "1024"}, server.with({}));
    ASSERT_TRUE(first.ready());
    const std::string taken = server.run({"free"}).output;
    first.kill();
    EXPECT_EQ(first.finish().signal, SIGKILL);
    EXPECT_EQ(server.run({"free"}).output, taken) << "whoever looks first";
    for (int k = 0; k < 6000 && server.run({"free"}).output != all; ++k) usleep(10000);
    EXPECT_EQ(server.run({"free"}).output, all);
}

TEST(Memory, OfAProcessIsShownWithItsContextAndLate) {
    const auto shown = [](const Environment& lag) {
        const TestServer server(lag);
        Running holder({"hold", "1024", "512"}, server.with({}));
        return holder.ready() ? server.run({"processes"}).output : "not ready";
    };
    EXPECT_EQ(shown({}), "process with 2063 MiB\n");
    EXPECT_EQ(shown({{"SIMGPU_NVML_LAG", "3600"}}), "process with 1551 MiB\n");
}

TEST(Memory, DoesNotFitTwice) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x8GiB"}});
    Running first({"hold", "6000"}, server.with({}));
    ASSERT_TRUE(first.ready());
    EXPECT_TRUE(server.run({"hold", "6000"}).says("FAILED cuMemAllocFromPoolAsync 2"));
}

TEST(Memory, APoolWithALimitTakesGranulesAndHoardsNothing) {
    EXPECT_EQ(run({"pool_limit"}).output, "reserved 128 MiB, then 2, hoarded 0 MiB\nand 1 MiB is possible\n");
}

TEST(Memory, APoolGivesBackOnlyGranulesInWhichNothingLives) {
    EXPECT_EQ(run({"fragments"}).output, "256 MiB, 64 more 2, 128 MiB, 64 more 0\n");
}

TEST(Memory, APoolWithoutALimitHoardsWhatAFailedRequestFound) {
    EXPECT_EQ(run({"hoard"}).output, "failed with 2, only the context came back; after a trim everything\n");
}

TEST(Memory, APoolDestroyedInUseKeepsItsMemoryUntilTheEnd) {
    const TestServer server;
    const std::string all = server.run({"free"}).output;
    EXPECT_EQ(server.run({"destroy_pool_in_use"}).output, "the context's 527 MiB came back, the pool's did not\n");
    EXPECT_EQ(server.run({"free"}).output, all);
}

TEST(Memory, ManagedIsTheHostsToo) { EXPECT_EQ(run({"managed"}).output, "took 64 MiB, gave back all\n"); }

// Under every schedule, even if the kernel has run at the call.
TEST(Memory, TheHostMayNotMeetAKernelInManagedMemory) {
    const Environment exclusive = {{"SIMGPU_NO_CONCURRENT_MANAGED", "1"}};
    for (const char* schedule : {"lazy", "pct", "eager"}) {
        const auto meet = [&](const char* kernel, const char* host, const Environment& more = {}) {
            return run({"managed_meeting", kernel, host}, more + Environment{{"SIMGPU_SCHEDULE", schedule}});
        };
        EXPECT_EQ(meet("read", "read").output, "the host saw 1\n") << schedule;
        EXPECT_EQ(meet("elsewhere", "write").output, "the host saw 2\n") << schedule;
        for (const Ended& bad : {meet("read", "write"), meet("write", "read"), meet("read", "read", exclusive),
                                 meet("elsewhere", "read", exclusive)}) {
            EXPECT_EQ(bad.exit_code, exit_bug) << schedule;
            EXPECT_TRUE(bad.says("the host touches managed memory")) << bad.output;
        }
    }
}

TEST(Memory, FreshMemoryIsPoisoned) { EXPECT_EQ(run({"fresh_memory"}).output, "fresh memory is NaN\n"); }

TEST(Memory, LeaksAreFound) {
    const Ended ended = run({"pipeline", "leak"}, {{"SIMGPU_LEAKS", "1"}});
    EXPECT_EQ(ended.exit_code, exit_leak);
    EXPECT_TRUE(ended.says("LEAK: gpu 0: the context")) << ended.output;
    EXPECT_TRUE(ended.says("LEAK: 4 pinned host blocks")) << ended.output;
}

// ---- Contexts

TEST(Contexts, AGpuHoldsOneHundredAndOne) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x80GiB"}, {"SIMGPU_CONTEXT_BYTES", "1MiB"}});
    std::vector<Running> all;
    for (int i = 0; i < 101; ++i) {
        all.emplace_back(std::vector<std::string>{"context"}, server.with({}));
        ASSERT_TRUE(all.back().ready()) << i;
    }
    EXPECT_EQ(server.run({"context"}).output, "FAILED cuDevicePrimaryCtxRetain 2\n");
}

TEST(Contexts, ManyAtOnceFail) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x80GiB"}, {"SIMGPU_TIME_SCALE", "0.3"}});
    std::vector<Running> all;
    for (int i = 0; i < 40; ++i) all.emplace_back(std::vector<std::string>{"context_when_told"}, server.with({}));
    for (Running& one : all) ASSERT_TRUE(one.ready());
    for (Running& one : all) one.go();
    int good = 0;
    for (Running& one : all) good += one.finish().exit_code == 0;
    EXPECT_GE(good, 28);
    EXPECT_LT(good, 40);
}

TEST(Contexts, OneProcessWhereTheModeSaysSo) {
    const TestServer server(Environment{{"SIMGPU_COMPUTE_MODE", "3"}});
    Running first({"context"}, server.with({}));
    ASSERT_TRUE(first.ready());
    EXPECT_EQ(server.run({"context"}).output, "FAILED cuDevicePrimaryCtxRetain 46\n");
}

TEST(Contexts, SeparateOnesStandBesideThePrimaryOne) {
    for (const Environment& mode : {Environment{}, Environment{{"SIMGPU_COMPUTE_MODE", "3"}}})
        EXPECT_EQ(run({"separate", "well"}, mode + Environment{{"SIMGPU_LEAKS", "1"}}).output,
                  "took 1054 MiB, one on the other; then the primary one; left 0 MiB\n");
    EXPECT_EQ(run({"separate", "use"}).exit_code, exit_bug);
    EXPECT_EQ(run({"separate", "twice"}).exit_code, exit_bug);
    EXPECT_TRUE(run({"separate", "leak"}, {{"SIMGPU_LEAKS", "1"}}).says("LEAK: gpu 0: separate contexts: 1"));
    const Environment full = {{"SIMGPU_DEVICES", "1x80GiB"}, {"SIMGPU_CONTEXTS", "2"}};
    EXPECT_EQ(run({"separate", "well"}, full).output, "FAILED cuCtxCreate 2\n");
    EXPECT_EQ(run({"separate", "well"}, {{"SIMGPU_FAULT", "cuCtxCreate:2:999"}}).output, "FAILED cuCtxCreate 999\n");
}

// ---- Kernels

TEST(Kernels, RunInTwoPhases) { EXPECT_EQ(run({"two_phases"}).output, "0 wrong; 64 KiB without asking first: 1\n"); }

TEST(Kernels, AnIllegalAddressIsSticky) {
    EXPECT_EQ(run({"read_beyond", "1023"}).output, "0, then 0, and anew 0\n");
    EXPECT_EQ(run({"read_beyond", "1024"}).output, "700, then 700, and anew 700\n");
    EXPECT_EQ(run({"read_beyond", "1000000000"}).output, "700, then 700, and anew 700\n");
}

TEST(Kernels, TellTheirParameters) { EXPECT_EQ(run({"parameters"}).output, "0+8 8+16 24+4 missing kernel 500\n"); }

#ifdef SIMGPU_TEST_FATBIN
TEST(Kernels, AreLookedUpInARealFatbin) {
    const Environment image = {{"TEST_IMAGE", SIMGPU_TEST_FATBIN}};
    EXPECT_EQ(run({"pipeline", "none"}, image).output, "right\n");
    EXPECT_EQ(run({"parameters"}, image).output, "0+8 8+16 24+4 missing kernel 500\n");
    EXPECT_EQ(run({"pipeline", "none"}, image + Environment{{"SIMGPU_CC", "86"}}).output, "right\n");
    EXPECT_EQ(run({"pipeline", "none"}, image + Environment{{"SIMGPU_CC", "75"}}).output,
              "FAILED cuModuleLoadData 209\n");
}
#endif

TEST(Image, MessagesNameTheVariableForTheKernels) {
    EXPECT_TRUE(run({"pipeline", "none"}, {{"SIMGPU_KERNELS", "/nowhere.so"}}).says("SIMGPU_KERNELS=/nowhere.so: "));
    EXPECT_TRUE(run({"pipeline", "none"}, {{"SIMGPU_KERNELS", ""}}).says("SIMGPU_KERNELS, which names the library"));
}

// ---- Misuse

class Misuse : public testing::TestWithParam<const char*> {};

TEST_P(Misuse, IsLoud) {
    const Ended ended = run({GetParam()});
    EXPECT_EQ(ended.exit_code, exit_bug);
    EXPECT_TRUE(ended.says("simgpu: BUG: ")) << ended.output;
}

INSTANTIATE_TEST_SUITE_P(Each, Misuse,
                         testing::Values("touch_from_host", "use_after_release", "use_after_free", "default_stream",
                                         "unknown_attribute"),
                         [](const auto& misuse) { return misuse.param; });

TEST(Process, AForkedChildCannotUseTheDriver) { EXPECT_EQ(run({"in_a_forked_child"}).output, "in the child: 3\n"); }

TEST(Process, CaptureForbidsToWait) { EXPECT_EQ(run({"capture"}).output, "capturing 0, then 1; synchronize: 900\n"); }

TEST(Process, CapturesThatMeetAreSpoilt) {
    EXPECT_EQ(run({"captures"}).output,
              "two: 902, then 2/0, then 2/0; outside: 905, then 2/0; join: 0, then 1/10; ended: 1, then 0/0\n");
}

TEST(Process, AnOlderDriverLacksFunctions) {
    EXPECT_EQ(run({"versions"}).output, "version 13000, cuFuncGetParamInfo there\n");
    EXPECT_EQ(run({"versions"}, {{"SIMGPU_DRIVER", "12020"}}).output, "version 12020, cuFuncGetParamInfo missing\n");
}

// ---- Faults

TEST(Faults, HappenAtTheCall) {
    EXPECT_EQ(run({"pipeline", "none"}, {{"SIMGPU_FAULT", "cuMemAllocFromPoolAsync:3:2"}}).output,
              "FAILED cuMemAllocFromPoolAsync 2\n");
    EXPECT_EQ(run({"pipeline", "none"}, {{"SIMGPU_FAULT", "cuStreamCreate:2+:999,cuInit:2:3"}}).output,
              "FAILED cuStreamCreate 999\n");
}

TEST(Faults, HappenAtExecution) {
    const Environment fault = {{"SIMGPU_FAULT", "cuLaunchKernel:3~:700"}, {"SIMGPU_SCHEDULE", "lazy"}};
    EXPECT_EQ(run({"pipeline", "none"}, fault).output, "FAILED cuEventSynchronize 700\n");
}

TEST(Faults, KillAtAnyCallAndTheMemoryComesBack) {
    const TestServer server;
    const std::string all = server.run({"free"}).output,
                      report = testing::TempDir() + "simgpu_report." + std::to_string(getpid());
    ASSERT_EQ(server.run({"pipeline", "none"}, {{"SIMGPU_REPORT", report}}).exit_code, 0);
    long calls = 0;
    std::ifstream file(report);
    file.ignore(2) >> calls;  // "* N" comes first
    std::remove(report.c_str());
    ASSERT_GT(calls, 50);
    for (long n = 1; n <= calls; n += 9) {
        const Ended ended = server.run({"pipeline", "none"}, {{"SIMGPU_FAULT", "*:" + std::to_string(n) + "!kill"}});
        EXPECT_EQ(ended.signal, SIGKILL) << n << ended.output;
        EXPECT_EQ(server.run({"free"}).output, all) << n;
    }
}

TEST(Faults, KillAtExecution) {
    EXPECT_EQ(run({"pipeline", "none"}, {{"SIMGPU_FAULT", "cuMemcpyHtoDAsync:2~!kill"}}).signal, SIGKILL);
}

// The shim's "real" driver is the simulated one.
TEST(Shim, HandsCallsOnAndInjectsFaults) {
    const TestServer server(Environment{{"LD_LIBRARY_PATH", SIMGPU_FOLDER "/shim:" SIMGPU_FOLDER},
                                        {"SIMGPU_REAL_DRIVER", SIMGPU_FOLDER "/libcuda.so.1"}});
    EXPECT_EQ(server.run({"pipeline", "none"}).output, "right\n");
    // Both drivers count calls. The inner driver must not count calls that the shim refused.
    EXPECT_EQ(server.run({"pipeline", "none"}, {{"SIMGPU_FAULT", "cuStreamWaitEvent:1:999"}}).output,
              "FAILED cuStreamWaitEvent 999\n");
    EXPECT_EQ(server.run({"pipeline", "none"}, {{"SIMGPU_FAULT", "cuLaunchKernel:2!kill"}}).signal, SIGKILL);
}

// ---- Devices

TEST(Devices, AreHiddenAsTheEnvironmentSays) {
    const auto ordinals = [](const char* visible) {
        return run({"cuda_devices"}, {{"SIMGPU_DEVICES", "3x8GiB"}, {"CUDA_VISIBLE_DEVICES", visible}}).output;
    };
    EXPECT_EQ(run({"cuda_devices"}, {{"SIMGPU_DEVICES", "3x8GiB"}}).output, "init 0: 1112 2223 3334\n");
    EXPECT_EQ(ordinals("2,0"), "init 0: 3334 1112\n");
    EXPECT_EQ(ordinals("GPU-2223"), "init 0: 2223\n");
    EXPECT_EQ(ordinals("1,7,0"), "init 0: 2223\n");
    EXPECT_EQ(ordinals("-1"), "init 100:\n");
    EXPECT_EQ(ordinals(""), "init 100:\n");
}

TEST(Devices, MigInstancesAreDevicesOfTheirOwn) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "2x8GiB"}, {"SIMGPU_MIG", "1:2"}});
    EXPECT_EQ(server.run({"nvml_devices"}).output,
              "GPU-1112 8188 MiB, utilization 0/0, 0 processes\n"
              "GPU-2223 8180 MiB, utilization 3/999, 0 processes\n"
              "MIG-3334 4092 MiB, utilization 3/999, 0 processes\n"
              "MIG-4445 4092 MiB, utilization 3/999, 0 processes\n");
    EXPECT_EQ(server.run({"cuda_devices"}).output, "init 0: 1112 3334\n");
    EXPECT_EQ(server.run({"cuda_devices"}, {{"CUDA_VISIBLE_DEVICES", "MIG-4445"}}).output, "init 0: 4445\n");
}

TEST(Devices, StrangersTakeMemoryAndTime) {
    const TestServer server(Environment{{"SIMGPU_DEVICES", "1x8GiB"}, {"SIMGPU_STRANGERS", "0:6GiB:95"}});
    EXPECT_EQ(server.run({"nvml_devices"}).output, "GPU-1112 2044 MiB, utilization 0/95, 1 processes\n");
    EXPECT_EQ(server.run({"nvml_devices"}, {{"SIMGPU_HIDE_PIDS", "1"}}).output,
              "GPU-1112 2044 MiB, utilization 0/95, 0 processes\n");
    EXPECT_EQ(server.run({"set_stranger", "1024"}).exit_code, 0);
    EXPECT_EQ(server.run({"nvml_devices"}).output, "GPU-1112 7164 MiB, utilization 0/91, 1 processes\n");
}

TEST(Devices, PeersReachEachOtherOrNot) {
    EXPECT_EQ(run({"two_gpus"}).output, "peer 1, access 0, kernel 0\n");
    EXPECT_EQ(run({"two_gpus"}, {{"SIMGPU_NO_PEER", "1"}}).output, "peer 0, access 101, kernel 700\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 2 && std::string(argv[1]) == "--program") return run_program(Arguments(argv + 2, argv + argc));
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
