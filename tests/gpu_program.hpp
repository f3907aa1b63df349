// Runs `glint fit` as a separate process, on a simulated server or behind the shim, with variables that a test sets.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "glint/gpu_fit.hpp"
#include "gpu/driver.hpp"
#include "tests/run_program.hpp"
#include "tests/thorough.hpp"

namespace glint::test {

/// Writes count x 7 x 7 pixels (float32) with a spot in the middle of each ROI.
inline void write_rois(const TemporaryFolder& folder, int count) {
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

class GpuProgram : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        server_ = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "simgpu";
        if (gpu::driver().why.empty()) {
            server_ /= "shim", real_driver_ = path_of_real_driver();
        }
        if (!std::filesystem::exists(server_ / "libcuda.so.1")) GTEST_SKIP() << "no simulated server in " << server_;
    }

    /// Runs a command on the simulated server with additional variables.
    Ended run_with(const std::string& variables, const std::string& command) {
        return run(folder_, variables_with(variables) + command);
    }
    /// Returns the variables to write before a command; valid in any folder.
    std::string variables_with(const std::string& more) const {
        const std::string server = server_.string(), here = folder_.path().string();
        return "export LD_LIBRARY_PATH=" + server + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" +
               " SIMGPU_REAL_DRIVER=" + real_driver_ + " GLINT_LEASE_DIR=" + here + "/leases SIMGPU_STATE=" + here +
               "/state SIMGPU_LEAKS=1 SIMGPU_KERNELS=" + server +
               "/libsimgpu_all_kernels.so SIMGPU_TIME_SCALE=0.02 SIMGPU_DEVICES=1x8GiB " + more + "; exec ";
    }
    Ended fit_with(const std::string& variables, const std::string& flags) {
        std::filesystem::remove(folder_ / "o.csv");
        return run_with(
            variables,
            "glint fit rois.npy -o o.csv --sigma 130nm --pixel-size 100nm --offset 0 --gain 1 --json --overwrite "
            "--gpu-timeout " +
                gpu_timeout_ + " --auto-timeout " + auto_timeout_ + " " +
                (flags.find("--batch-size") == std::string::npos ? "--batch-size 64 " : "") + flags);
    }
    /// Returns the path of the driver library that this process has loaded.
    static std::string path_of_real_driver() {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find("/libcuda.so") != std::string::npos) return line.substr(line.find('/'));
        return "";
    }
    bool complete(int rows) const {
        const std::string text = read_bytes(folder_ / "o.csv");
        return std::count(text.begin(), text.end(), '\n') == rows + 1;
    }
    static void expect_audited(const Ended& ended) {
        EXPECT_NE(ended.exit_code, 86) << ended.err;  // an ordering bug
        EXPECT_NE(ended.exit_code, 87) << ended.err;  // something left on the GPU
        EXPECT_LT(ended.exit_code, 128) << ended.err;
    }

    TemporaryFolder folder_;
    std::filesystem::path server_;
    std::string gpu_timeout_ = "60s", auto_timeout_ = "60s";  // a test that waits so long has failed
    std::string real_driver_;  // faults are injected in front of it; empty: the simulated server
};

}  // namespace glint::test
