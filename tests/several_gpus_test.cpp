// One fit on several simulated GPUs: the same bytes for any number of GPUs, and after any failure of some of them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/gpu_program.hpp"

namespace glint::test {
namespace {

constexpr int fits = 5000;

class SeveralGpus : public GpuProgram {
  protected:
    void SetUp() override {
        GpuProgram::SetUp();
        if (IsSkipped()) return;
        if (!real_driver_.empty()) GTEST_SKIP() << "it takes a server with eight GPUs that fail when they are told";
        write_rois(folder_, fits);
        undisturbed_ = on(1, "", "--backend gpu").csv;
    }

    struct Run {
        Ended ended;
        std::string csv;
        nlohmann::json result;
    };
    Run on(int gpus, const std::string& variables, const std::string& flags) {
        std::filesystem::remove(folder_ / "state");
        Run run;
        run.ended = fit_with("SIMGPU_DEVICES=" + std::to_string(gpus) + "x8GiB " + variables, flags);
        expect_audited(run.ended);
        if (run.ended.exit_code == 0) {
            run.csv = read_bytes(folder_ / "o.csv");
            run.result = nlohmann::json::parse(run.ended.out);
        }
        return run;
    }
    static std::int64_t fitted_by_gpus(const nlohmann::json& result) {
        std::int64_t sum = 0;
        for (const auto& gpu : result["gpus"]) sum += gpu["fits"].get<std::int64_t>();
        return sum;
    }
    static bool was_told(const Run& run, const std::string& words) {
        for (const auto& event : run.result["events"])
            if (event["what"].get<std::string>().find(words) != std::string::npos) return true;
        return false;
    }

    std::string undisturbed_;
};

}  // namespace

TEST_F(SeveralGpus, the_result_is_that_of_one) {
    ASSERT_FALSE(undisturbed_.empty());
    for (const int gpus : {2, 4, 8}) {
        SCOPED_TRACE(gpus);
        const Run run = on(8, "", "--backend gpu --gpus " + std::to_string(gpus));
        ASSERT_EQ(run.ended.exit_code, 0) << run.ended.err;
        EXPECT_EQ(run.csv, undisturbed_);
        EXPECT_EQ(fitted_by_gpus(run.result), fits);
        EXPECT_LE(run.result["gpus"].size(), std::size_t(gpus));
        double shares = 0;
        for (const auto& gpu : run.result["gpus"]) shares += gpu["share"].get<double>();
        EXPECT_NEAR(shares, 1, 1e-9);
        EXPECT_EQ(run.result["retries"], 0);
    }
}

// The simulator has no speed, and this process does not control when threads run. All GPUs therefore take part only in
// the long run. RowQueue.equal_gpus_get_equal_parts tests with a simulated clock how well the parts are balanced.
TEST_F(SeveralGpus, all_take_part) {
    std::size_t most = 0;
    for (int attempt = 0; attempt < 200 && most < 8; ++attempt)
        most = std::max(most, on(8, "", "--backend gpu --gpus all --batch-size 8").result["gpus"].size());
    EXPECT_EQ(most, 8u);
}

TEST_F(SeveralGpus, one_is_lost_at_any_point) {
    int survived = 0;
    for (const std::string function : {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"})
        for (const int call : {1, 2, 5, 9, 20, 40, 70})
            for (const std::string when : {"", "~"}) {
                if (!has_turn(call + (when == "~"), 2)) continue;
                const std::string fault = function + ":" + std::to_string(call) + when + ":700";
                SCOPED_TRACE(fault);
                const Run run = on(2, "SIMGPU_LEAKS=0 SIMGPU_FAULT=" + fault, "--backend gpu --gpus 2");
                ASSERT_EQ(run.ended.exit_code, 0) << run.ended.err;
                EXPECT_EQ(run.csv, undisturbed_);
                survived += run.result["events"].size() > 0;
            }
    EXPECT_GT(survived, thorough() ? 20 : 10) << "the faults did not happen";
}

TEST_F(SeveralGpus, calls_that_fail_once_cost_nothing_but_time) {
    int cases = 0;
    for (const std::string function :
         {"cuDevicePrimaryCtxRetain", "cuMemPoolCreate", "cuModuleLoadData", "cuStreamCreate",
          "cuMemAllocFromPoolAsync", "cuMemHostRegister", "cuEventRecord", "cuStreamSynchronize"})
        for (const std::string fault : {":1:2", ":2:2", ":2:999"}) {
            if (!has_turn(cases++, 2)) continue;
            SCOPED_TRACE(function + fault);
            const Run run = on(3, "SIMGPU_FAULT=" + function + fault, "--backend gpu --gpus all --restart-batches");
            ASSERT_EQ(run.ended.exit_code, 0) << run.ended.err;
            EXPECT_EQ(run.csv, undisturbed_);
            EXPECT_EQ(fitted_by_gpus(run.result), fits);
        }
}

TEST_F(SeveralGpus, what_all_have_lost_the_cpu_does) {
    for (const int call : {1, 10, 60}) {
        const std::string fault = "SIMGPU_LEAKS=0 SIMGPU_FAULT=cuLaunchKernel:" + std::to_string(call) + "+~:700";
        SCOPED_TRACE(fault);
        const Run easy = on(4, fault, "--backend auto --always-gpu --gpus all");
        ASSERT_EQ(easy.ended.exit_code, 0) << easy.ended.err;
        EXPECT_TRUE(complete(fits));
        EXPECT_EQ(easy.result["backend"], "cpu");
        EXPECT_NE(easy.result["note"], "");
        EXPECT_EQ(fitted_by_gpus(easy.result) + easy.result["cpu_fits"].get<int>(), fits);
        const Run strict = on(4, fault, "--backend gpu --gpus all");
        EXPECT_EQ(strict.ended.exit_code, 5) << strict.ended.err;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "o.csv"));
    }
}

TEST_F(SeveralGpus, it_begins_with_those_that_are_free) {
    const Run run = on(3, "SIMGPU_STRANGERS=0:7900MiB:50,2:7900MiB:50", "--backend gpu --gpus 3");
    ASSERT_EQ(run.ended.exit_code, 0) << run.ended.err;
    EXPECT_EQ(run.csv, undisturbed_);
    EXPECT_EQ(run.result["gpus"].size(), 1u);
    EXPECT_TRUE(was_told(run, "no further GPU now")) << run.ended.out;
}

TEST_F(SeveralGpus, more_than_there_are_is_all) {
    const Run run = on(2, "", "--backend gpu --gpus 100");
    ASSERT_EQ(run.ended.exit_code, 0) << run.ended.err;
    EXPECT_EQ(run.csv, undisturbed_);
    EXPECT_FALSE(was_told(run, "no further GPU"));
}

TEST_F(SeveralGpus, a_number_that_is_none_is_refused) {
    for (const std::string wrong : {"0", "-1", "x", "2x", "1e9", "99999999999"}) {
        const Run run = on(2, "", "--gpus=" + wrong);
        EXPECT_EQ(run.ended.exit_code, 2) << wrong;
        EXPECT_NE(run.ended.err.find("give a number, 1 or more, or all"), std::string::npos) << run.ended.err;
    }
}

TEST_F(SeveralGpus, their_speed_is_measured_together) {
    const std::string server = server_.string();
    const Ended ended =
        run(folder_, "export LD_LIBRARY_PATH=" + server +
                         "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GLINT_LEASE_DIR=$PWD/leases SIMGPU_STATE=$PWD/bench" +
                         " SIMGPU_TIME_SCALE=0 SIMGPU_LEAKS=1 SIMGPU_DEVICES=3x8GiB SIMGPU_KERNELS=" + server +
                         "/libsimgpu_all_kernels.so; exec glint bench fit --gpus all --count 500 --gpus-bytes 200kB "
                         "--repeats 1 --batch-size 256 --json");
    expect_audited(ended);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const auto rows = nlohmann::json::parse(ended.out);
    ASSERT_EQ(rows.size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(rows[k]["gpus"], k < 2 ? k + 1 : 3);
        EXPECT_EQ(rows[k]["fits"], 2000) << "as many as the bytes hold";
        EXPECT_GT(rows[k]["link_up_bytes_per_s"], 0);
        EXPECT_GE(rows[k]["batches"], 8);
    }
    EXPECT_EQ(rows[0]["speedup_vs_one_gpu"], 1);
    EXPECT_EQ(rows[0]["parts_apart"], 0);
}

TEST_F(SeveralGpus, the_summary_names_each) {
    const std::string server = server_.string();
    Ended ended;
    for (int attempt = 0; attempt < 50 && ended.out.find("2x ") == std::string::npos; ++attempt) {
        ended = run(folder_,
                    "export LD_LIBRARY_PATH=" + server +
                        "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GLINT_LEASE_DIR=$PWD/leases SIMGPU_STATE=$PWD/both" +
                        " SIMGPU_TIME_SCALE=0 SIMGPU_DEVICES=2x8GiB SIMGPU_KERNELS=" + server +
                        "/libsimgpu_all_kernels.so; exec glint fit rois.npy -o o.csv --sigma 130nm "
                        "--pixel-size 100nm --offset 0 --gain 1 --overwrite --backend gpu --gpus all "
                        "--batch-size 32");
        ASSERT_EQ(ended.exit_code, 0) << ended.err;
    }
    EXPECT_NE(ended.out.find("2x "), std::string::npos) << ended.out;
    const std::size_t first = ended.out.find(" %, in ");
    ASSERT_NE(first, std::string::npos) << ended.out;
    EXPECT_NE(ended.out.find(" %, in ", first + 1), std::string::npos) << ended.out;
}

}  // namespace glint::test
