// The program on a GPU, simulated or behind the shim, with each call failing in turn. Either the result is complete, or
// there is a clear error and no result. Nothing stays on the GPU. Each run is a separate process, because faults are
// set for a process.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/gpu_program.hpp"

namespace glint::test {
namespace {

constexpr int fits = 300;

class FaultyGpu : public GpuProgram {
  protected:
    void SetUp() override {
        GpuProgram::SetUp();
        if (!IsSkipped()) write_rois(folder_, fits);
    }
    /// Returns the driver's functions that a fit calls.
    std::vector<std::string> calls_of_a_fit() {
        if (!real_driver_.empty())  // the shim does not count calls
            return {"cuInit",
                    "cuDevicePrimaryCtxRetain",
                    "cuMemPoolCreate",
                    "cuStreamCreate",
                    "cuEventCreate",
                    "cuModuleLoadData",
                    "cuLaunchKernel",
                    "cuMemAllocFromPoolAsync",
                    "cuMemcpyHtoDAsync",
                    "cuMemcpyDtoHAsync",
                    "cuEventRecord",
                    "cuStreamSynchronize"};
        EXPECT_EQ(fit_with("SIMGPU_REPORT=$PWD/report", "--backend gpu").exit_code, 0);
        std::ifstream report(folder_ / "report");
        std::vector<std::string> functions;
        int n = 0;
        for (std::string function; report >> function >> n;)
            if (function != "*") functions.push_back(function);
        EXPECT_GT(functions.size(), 20u);
        return functions;
    }
    /// Returns true if a function releases a resource. Such calls are not repeated when they fail: the call may report
    /// an earlier error although it succeeded. Releasing twice is worse than leaving the release to the process's end.
    static bool gives_back(const std::string& function) {
        return function == "cuDevicePrimaryCtxRelease" || function == "cuMemPoolDestroy" ||
               function == "cuMemHostUnregister" || function == "cuMemFreeAsync";
    }
    static bool queues_work(const std::string& function) {
        return function == "cuLaunchKernel" || function.find("Async") != std::string::npos;
    }
    bool complete(int rows = fits) const { return GpuProgram::complete(rows); }
    /// For resources that never become available.
    void be_impatient() { gpu_timeout_ = auto_timeout_ = "0.2s"; }
    /// Returns true if the GPU completed the work. If not, expects that the CPU did, or a clear error and no result.
    bool expect_all_or_nothing(const std::string& fault, const std::string& audit = "1") {
        SCOPED_TRACE(fault);
        if (fault.find('+') != fault.npos) be_impatient();
        const std::string variables = "SIMGPU_LEAKS=" + audit + " SIMGPU_FAULT=" + fault;
        const Ended strict = fit_with(variables, "--backend gpu");
        expect_audited(strict);
        if (strict.exit_code == 0) {
            EXPECT_TRUE(complete());
        } else {
            EXPECT_FALSE(std::filesystem::exists(folder_ / "o.csv"));
            EXPECT_NE(strict.err.find("glint: "), std::string::npos) << strict.err;
        }
        const Ended easy = fit_with(variables, "--backend auto --always-gpu");
        expect_audited(easy);
        EXPECT_EQ(easy.exit_code, 0) << easy.err;
        EXPECT_TRUE(complete());
        return strict.exit_code == 0;
    }
};

}  // namespace

TEST_F(FaultyGpu, is_used_or_not_as_the_variables_say) {
    const auto backend = [&](const std::string& variables, const std::string& flags) -> std::string {
        const Ended end = fit_with(variables, flags);
        EXPECT_EQ(end.exit_code, 0) << variables << ": " << end.err;
        return nlohmann::json::parse(end.out)["backend"];
    };
    EXPECT_EQ(backend("GLINT_BACKEND=cuda", ""), "gpu");
    EXPECT_EQ(backend("GLINT_BACKEND=cpu", "--backend auto"), "cpu");
    EXPECT_EQ(backend("GLINT_BACKEND=cpu", "--backend gpu"), "gpu") << "a flag that says otherwise comes first";
    EXPECT_EQ(backend("GLINT_GPU_ENABLED=off", ""), "cpu");
    EXPECT_EQ(fit_with("GLINT_GPU_ENABLED=off", "--backend gpu").exit_code, 5);
}

// A GPU that is opened without need would be reported.
TEST_F(FaultyGpu, work_that_the_cpu_finishes_before_a_gpu_is_open_asks_none) {
    const std::string broken = "SIMGPU_FAULT=cuInit:1+:999";
    const std::string simulate = "glint simulate -o m.tif --frames 10 --size 64 --overwrite",
                      localize =
                          "glint localize m.tif -o m.csv --sigma 130nm --pixel-size 100nm --offset 100 --gain 1 "
                          "--overwrite --json --backend ";
    ASSERT_EQ(run_with("", simulate).exit_code, 0);
    write_rois(folder_,
               20);  // too few frames for a trial, so the estimates do not depend on this machine's load
    ASSERT_NE(run_with(broken, localize + "gpu").exit_code, 0);
    for (const bool movie : {true, false}) {
        const Ended end = movie ? run_with(broken, localize + "auto") : fit_with(broken, "--backend auto");
        ASSERT_EQ(end.exit_code, 0) << end.err;
        const std::string why = nlohmann::json::parse(end.out).dump();
        EXPECT_NE(why.find("the GPU 100 ms (its context 100 ms)"), std::string::npos) << why;
        EXPECT_EQ(why.find("(999)"), std::string::npos) << why;
    }
}

TEST_F(FaultyGpu, none) {
    const Ended gpu = fit_with("", "--backend gpu");
    ASSERT_EQ(gpu.exit_code, 0) << gpu.err;
    EXPECT_TRUE(complete());
    EXPECT_NE(gpu.out.find("\"backend\": \"gpu\""), std::string::npos) << gpu.out;
    EXPECT_NE(gpu.out.find("\"batches\": 5"), std::string::npos) << gpu.out;
}

// A failed call is tried again, and a lost GPU is abandoned. With `gpu`, fits survive most errors of one call.
TEST_F(FaultyGpu, every_call_fails_once) {
    std::vector<std::string> functions = calls_of_a_fit(), codes{"2", "700", "719", "999"};
    if (!real_driver_.empty()) codes = {"2", "999"};  // 0.3 s each; 700 would be a real illegal address
    int survived = 0, runs = 0;
    for (std::size_t k = 0; k < functions.size(); ++k)
        for (std::size_t c = 0; c < codes.size(); ++c) {
            if (!has_turn(long(k * codes.size() + k + c), 2 * int(codes.size()))) continue;
            for (const std::string when : {"1", "2~"}) {
                if (when == "2~" && !queues_work(functions[k])) continue;
                if (when == "2~" && !real_driver_.empty()) continue;  // the shim cannot make queued work fail
                const char* audit = gives_back(functions[k]) ? "0" : "1";
                survived += expect_all_or_nothing(functions[k] + ":" + when + ":" + codes[c], audit), ++runs;
            }
        }
    EXPECT_GT(survived, runs / 3) << "of " << runs;
    EXPECT_LT(survived, runs) << "the faults did not happen";
}

TEST_F(FaultyGpu, what_failed_is_tried_again_and_told) {
    for (const std::string code : {"2", "999"}) {
        SCOPED_TRACE(code);
        const Ended end = fit_with("SIMGPU_FAULT=cuDevicePrimaryCtxRetain:1:" + code, "--backend gpu --gpu-log");
        ASSERT_EQ(end.exit_code, 0) << end.err;
        const auto result = nlohmann::json::parse(end.out);
        EXPECT_EQ(result["retries"], 1);
        ASSERT_FALSE(result["events"].empty());
        const std::string what = result["events"][0]["what"];
        EXPECT_NE(what.find("(" + code + ")"), std::string::npos) << what;
        EXPECT_NE(end.err.find("gpu: " + what), std::string::npos) << end.err;
    }
}

// An unmanaged process was faster: memory, contexts, or a GPU for one process are in use after they were granted.
TEST_F(FaultyGpu, a_session_waits_again_where_no_context_can_be_made) {
    const std::string session =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "session_worker").string() + " 64 2 100 0";
    const Ended undisturbed = run_with("", session);
    ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
    const Ended end = run_with("SIMGPU_FAULT=cuCtxCreate:1:2,cuCtxCreate:2:999,cuCtxCreate:3:46", session);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(end.out, undisturbed.out);
    EXPECT_EQ(end.err, "") << "all on the GPU";
    EXPECT_NE(run_with("SIMGPU_FAULT=cuCtxCreate:1+:1", session).exit_code, 0) << "no other process is the reason";
}

TEST_F(FaultyGpu, another_gpu_takes_over_from_the_last_finished_batch) {
    if (!real_driver_.empty()) GTEST_SKIP() << "it takes two GPUs";
    ASSERT_EQ(fit_with("", "--backend gpu").exit_code, 0);
    const std::string undisturbed = read_bytes(folder_ / "o.csv");
    for (const std::string flags : {"", " --restart-batches"}) {
        SCOPED_TRACE(flags);
        std::filesystem::remove(folder_ / "state");
        const Ended end = fit_with("SIMGPU_DEVICES=2x8GiB SIMGPU_LEAKS=0 SIMGPU_FAULT=cuLaunchKernel:4~:700",
                                   "--backend gpu" + flags);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        EXPECT_EQ(read_bytes(folder_ / "o.csv"), undisturbed);
        const auto result = nlohmann::json::parse(end.out);
        EXPECT_EQ(result["retries"], 1);
        EXPECT_EQ(result["note"], "");
        // Before the fault, 3 of 5 batches were finished and up to 4 started. Then either the remaining batches are
        // fitted, or all batches.
        const int batches = result["batches"];
        EXPECT_GE(batches, flags.empty() ? 5 : 4 + 5);
        EXPECT_LE(batches, flags.empty() ? 5 + 2 : 5 + 5);
    }
}

// Retries end if there was no progress for the given time.
TEST_F(FaultyGpu, what_never_works_ends_in_time) {
    const std::string always = "SIMGPU_FAULT=cuMemAllocFromPoolAsync:1+:2";
    be_impatient();
    const Ended strict = fit_with(always, "--backend gpu");
    EXPECT_EQ(strict.exit_code, 5);
    EXPECT_NE(strict.err.find("asked for"), std::string::npos) << strict.err;
    auto_timeout_ = "3s";
    const Ended easy = fit_with(always, "--backend auto --always-gpu");
    ASSERT_EQ(easy.exit_code, 0) << easy.err;
    const auto result = nlohmann::json::parse(easy.out);
    EXPECT_EQ(result["backend"], "cpu");
    EXPECT_GE(result["retries"], 1);
    EXPECT_NE(easy.err.find("glint: warning: fitted on the CPU"), std::string::npos) << easy.err;
}

TEST_F(FaultyGpu, memory_fails_at_every_call_in_turn_and_from_every_call_on) {
    if (!real_driver_.empty())
        GTEST_SKIP() << "some hundred runs of 0.3 s each; the first calls are in every_call_fails_once";
    ASSERT_EQ(fit_with("SIMGPU_REPORT=$PWD/report", "--backend gpu").exit_code, 0);
    std::ifstream report(folder_ / "report");
    std::map<std::string, int> calls;
    int n = 0;
    for (std::string function; report >> function >> n;) calls[function] = n;
    for (const std::string function : {"cuMemAllocFromPoolAsync", "cuMemHostRegister"}) {
        ASSERT_GT(calls[function], 3) << function;
        for (int call = 1; call <= calls[function]; ++call)
            for (const std::string on : {"", "+"})
                if (has_turn(call, 3)) expect_all_or_nothing(function + ":" + std::to_string(call) + on + ":2");
    }
}

TEST_F(FaultyGpu, too_little_memory_for_a_batch_makes_smaller_ones) {
    write_rois(folder_, 3000);
    const Ended end = fit_with("", "--backend gpu --gpu-memory 400kB --batch-size 3000");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(complete(3000));
    const auto result = nlohmann::json::parse(end.out);
    EXPECT_EQ(result["backend"], "gpu");
    EXPECT_LT(result["batch_size"], 3000);
}

// A lost context keeps its memory until the process ends, so the audit does not count it.
TEST_F(FaultyGpu, a_lost_gpu_is_left_to_the_cpu) {
    for (const std::string fault : {"cuLaunchKernel:3~:700", "cuMemcpyHtoDAsync:4~:719", "cuLaunchKernel:1:700"}) {
        SCOPED_TRACE(fault);
        const Ended easy = fit_with("SIMGPU_LEAKS=0 SIMGPU_FAULT=" + fault, "--backend auto --always-gpu");
        EXPECT_EQ(easy.exit_code, 0) << easy.err;
        EXPECT_TRUE(complete());
        const std::string code = fault.substr(fault.rfind(':') + 1);  // in CUDA_ERROR_LAUNCH_FAILED (719)
        EXPECT_NE(easy.out.find("(" + code + ")"), std::string::npos) << easy.out;
        const Ended strict = fit_with("SIMGPU_LEAKS=0 SIMGPU_FAULT=" + fault, "--backend gpu");
        EXPECT_NE(strict.exit_code, 0);
        EXPECT_FALSE(std::filesystem::exists(folder_ / "o.csv"));
    }
}

TEST_F(FaultyGpu, a_gpu_that_cannot_be_used_is_named_with_the_remedy) {
    if (!real_driver_.empty()) GTEST_SKIP() << "the driver here is a real one";
    be_impatient();
    const struct {
        const char *variables, *words;
    } cases[] = {{"SIMGPU_DRIVER=12040 SIMGPU_DRIVER_NAME=550.54", "580"},
                 {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES"},
                 {"CUDA_VISIBLE_DEVICES=nonsense", "nonsense"},
                 {"SIMGPU_STRANGERS=0:7900MiB:50", "no GPU had room"}};
    for (const auto& c : cases) {
        SCOPED_TRACE(c.variables);
        std::filesystem::remove(folder_ / "state");
        const Ended strict = fit_with(c.variables, "--backend gpu");
        EXPECT_NE(strict.exit_code, 0);
        EXPECT_NE(strict.err.find(c.words), std::string::npos) << strict.err;
        const Ended easy = fit_with(c.variables, "--backend auto --always-gpu");
        EXPECT_EQ(easy.exit_code, 0) << easy.err;
        EXPECT_TRUE(complete());
        EXPECT_NE(easy.out.find(c.words), std::string::npos) << easy.out;
    }
}

}  // namespace glint::test
