// The program on a GPU, simulated or behind the shim, on which everything goes wrong in turn: its result is complete, or
// there is none and a clear error; nothing stays on the GPU. Each run is a process of its own, as faults are.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/gpu_fit.hpp"
#include "gpu/driver.hpp"
#include "tests/run_program.hpp"

namespace glint::test {
namespace {

constexpr int fits = 300;

/// count x 7 x 7 float32 with a spot in the middle of each.
void write_rois(const TemporaryFolder& folder, int count = fits) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ", 7, 7), }";
    header.resize(128 - 10 - 1, ' ');
    header += '\n';
    std::ofstream out(folder / "rois.npy", std::ios::binary);
    out.write("\x93NUMPY\x01\x00", 8);
    const std::uint16_t length = std::uint16_t(header.size());
    out.write(reinterpret_cast<const char*>(&length), 2);
    out << header;
    for (int k = 0; k < count; ++k)
        for (int p = 0; p < 49; ++p) {
            const int dx = p % 7 - 3, dy = p / 7 - 3, distance = dx * dx + dy * dy;
            const float value = 10 +
                                float(distance == 0   ? 90
                                      : distance == 1 ? 65
                                      : distance == 2 ? 47
                                                      : 3) +
                                float(k % 3);
            out.write(reinterpret_cast<const char*>(&value), 4);
        }
}

class FaultyGpu : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        server_ = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "simgpu";
        if (gpu::driver().why.empty()) server_ /= "shim", real_driver_ = path_of_real_driver();
        if (!std::filesystem::exists(server_ / "libcuda.so.1")) GTEST_SKIP() << "no simulated server in " << server_;
        write_rois(folder_);
    }

    /// `glint fit` on the simulated server, with variables before it.
    Ended fit_with(const std::string& variables, const std::string& flags) {
        std::filesystem::remove(folder_ / "o.csv");
        const std::string server = server_.string();
        return run(folder_,
                   "export LD_LIBRARY_PATH=" + server + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" +
                       " SIMGPU_REAL_DRIVER=" + real_driver_ +
                       " SIMGPU_STATE=$PWD/state SIMGPU_LEAKS=1 SIMGPU_KERNELS=" + server +
                       "/libsimgpu_fit_kernels.so SIMGPU_DEVICES=1x8GiB " + variables +
                       "; exec glint fit rois.npy -o o.csv --sigma 130nm --pixel-size 100nm --offset 0 --gain 1 "
                       "--json --overwrite " +
                       (flags.find("--batch-size") == std::string::npos ? "--batch-size 64 " : "") + flags);
    }
    /// The library that this process has loaded.
    static std::string path_of_real_driver() {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find("/libcuda.so") != std::string::npos) return line.substr(line.find('/'));
        return "";
    }
    bool complete(int rows = fits) const {
        const std::string text = read_bytes(folder_ / "o.csv");
        return std::count(text.begin(), text.end(), '\n') == rows + 1;
    }
    /// Whether the GPU came through by itself; if not, the CPU does, or there is a clear error and no result.
    bool expect_all_or_nothing(const std::string& fault) {
        SCOPED_TRACE(fault);
        const Ended strict = fit_with("SIMGPU_FAULT=" + fault, "--backend gpu");
        expect_audited(strict);
        if (strict.exit_code == 0) {
            EXPECT_TRUE(complete());
        } else {
            EXPECT_FALSE(std::filesystem::exists(folder_ / "o.csv"));
            EXPECT_NE(strict.err.find("glint: "), std::string::npos) << strict.err;
        }
        const Ended easy = fit_with("SIMGPU_FAULT=" + fault, "--backend auto");
        expect_audited(easy);
        EXPECT_EQ(easy.exit_code, 0) << easy.err;
        EXPECT_TRUE(complete());
        return strict.exit_code == 0;
    }
    static void expect_audited(const Ended& ended) {
        EXPECT_NE(ended.exit_code, 86) << ended.err;  // an ordering bug
        EXPECT_NE(ended.exit_code, 87) << ended.err;  // something left on the GPU
        EXPECT_LT(ended.exit_code, 128) << ended.err;
    }

    TemporaryFolder folder_;
    std::filesystem::path server_;
    std::string real_driver_;  // faults are injected in front of it; empty: the simulated server
};

}  // namespace

TEST_F(FaultyGpu, none) {
    const Ended gpu = fit_with("", "--backend gpu");
    ASSERT_EQ(gpu.exit_code, 0) << gpu.err;
    EXPECT_TRUE(complete());
    EXPECT_NE(gpu.out.find("\"backend\": \"gpu\""), std::string::npos) << gpu.out;
    EXPECT_NE(gpu.out.find("\"batches\": 5"), std::string::npos) << gpu.out;
}

TEST_F(FaultyGpu, every_call_fails_once) {
    const char* functions[] = {"cuInit",
                               "cuDevicePrimaryCtxRetain",
                               "cuMemPoolCreate",
                               "cuStreamCreate",
                               "cuEventCreate",
                               "cuModuleLoadData",
                               "cuModuleGetFunction",
                               "cuFuncSetAttribute",
                               "cuMemAllocFromPoolAsync",
                               "cuMemHostRegister",
                               "cuMemcpyHtoDAsync",
                               "cuLaunchKernel",
                               "cuMemcpyDtoHAsync",
                               "cuEventRecord",
                               "cuStreamSynchronize"};
    int failed = 0, survived = 0;
    for (const std::string function : functions)
        for (const std::string code : {"2", "999"})
            for (const std::string call : {"1", "2", "5"}) {
                if (code == "999" && call != "1") continue;                             // one other error will do
                if (!real_driver_.empty() && (code == "999" || call == "5")) continue;  // 0.3 s each
                (expect_all_or_nothing(function + ":" + call + ":" + code) ? survived : failed)++;
            }
    EXPECT_GE(failed, 8) << "the faults did not happen";
    EXPECT_GT(survived, 2) << "a lack of memory is no reason to give up";
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
                expect_all_or_nothing(function + ":" + std::to_string(call) + on + ":2");
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

// A context that is lost takes its memory with it until the process ends: the audit counts nothing then.
TEST_F(FaultyGpu, a_lost_gpu_is_left_to_the_cpu) {
    for (const std::string fault : {"cuLaunchKernel:3~:700", "cuMemcpyHtoDAsync:4~:719", "cuLaunchKernel:1:700"}) {
        SCOPED_TRACE(fault);
        const Ended easy = fit_with("SIMGPU_LEAKS=0 SIMGPU_FAULT=" + fault, "--backend auto");
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
    const struct {
        const char *variables, *words;
    } cases[] = {{"SIMGPU_DRIVER=12040 SIMGPU_DRIVER_NAME=550.54", "580"},
                 {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES"},
                 {"CUDA_VISIBLE_DEVICES=nonsense", "nonsense"},
                 {"SIMGPU_STRANGERS=0:7900MiB:50", "full"}};
    for (const auto& c : cases) {
        SCOPED_TRACE(c.variables);
        std::filesystem::remove(folder_ / "state");
        const Ended strict = fit_with(c.variables, "--backend gpu");
        EXPECT_NE(strict.exit_code, 0);
        EXPECT_NE(strict.err.find(c.words), std::string::npos) << strict.err;
        const Ended easy = fit_with(c.variables, "--backend auto");
        EXPECT_EQ(easy.exit_code, 0) << easy.err;
        EXPECT_TRUE(complete());
        EXPECT_NE(easy.out.find(c.words), std::string::npos) << easy.out;
    }
}

}  // namespace glint::test
