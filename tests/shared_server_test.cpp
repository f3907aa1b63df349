// A stress test: many simultaneous localizations on a few simulated GPUs, each of which holds one or two, while
// unmanaged processes come and go and some jobs are killed. All results must be complete and identical to those of an
// undisturbed run, and no GPU memory may leak. GLINT_SHARED_SEEDS=20 sets the number of seeds; the default is one.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "glint/gpu_fit.hpp"
#include "tests/run_program.hpp"
#include "tests/thorough.hpp"

namespace glint::test {
namespace {

/// Returns the number of simultaneous runs.
int count() { return thorough() ? 64 : 12; }
constexpr int gpus = 4, gpu_mib = 8192;

class SharedServer : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
        bin_ = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        const std::string server = (bin_.parent_path() / "simgpu").string();
        if (!std::filesystem::exists(server + "/libcuda.so.1")) GTEST_SKIP() << "no simulated server in " << server;
        const std::string folder = server_.path().string();
        variables_ = "export LD_LIBRARY_PATH=" + server +
                     "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SIMGPU_KERNELS=" + server +
                     "/libsimgpu_all_kernels.so SIMGPU_DEVICES=" + std::to_string(gpus) +
                     "x8GiB SIMGPU_TIME_SCALE=0.02" + " SIMGPU_RELEASE_DELAY=0.13 SIMGPU_NVML_LAG=0.1" +
                     " SIMGPU_STATE=" + folder + "/state GLINT_LEASE_DIR=" + folder + "/leases" +
                     "; unset CUDA_VISIBLE_DEVICES GLINT_GPU_MEMORY_LIMIT GLINT_LEASES_PER_USER SIMGPU_FAULT; ";
        const Ended made = run(server_,
                               "exec glint simulate -o movie.tif --size 64 --frames 120 --spots 4 --sigma 130nm "
                               "--pixel-size 100nm --seed 3 -q");
        ASSERT_EQ(made.exit_code, 0) << made.err;
    }

    /// One localization in a separate folder, started again each time it is killed.
    struct Run {
        TemporaryFolder folder;
        std::unique_ptr<Program> program;
        std::string memory;  ///< --gpu-memory
        int kills_left = 0;
        std::chrono::steady_clock::time_point kill_at = std::chrono::steady_clock::time_point::max();
    };
    std::string localize(const std::string& memory) const {
        return "exec glint localize " + (server_ / "movie.tif").string() +
               " -o o.csv --sigma 130nm --pixel-size 100nm --offset 100 --gain 1 --backend gpu --threads 1 --resume -q "
               "--gpu-memory " +
               memory;
    }
    /// Starts a run, which is killed at a call of the driver or at any time.
    void begin(Run& run, std::mt19937& random) const {
        std::string fault;
        run.kill_at = std::chrono::steady_clock::time_point::max();
        if (run.kills_left > 0 && random() % 2)
            fault = "export SIMGPU_FAULT='*:" + std::to_string(1 + random() % 3000) + "!kill'; ";
        else if (run.kills_left > 0)
            run.kill_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(random() % 400);
        --run.kills_left;
        run.program = std::make_unique<Program>(run.folder, variables_ + fault + localize(run.memory));
    }
    void stranger_comes_or_goes(std::mt19937& random) const {
        const int mib = random() % 2 ? 0 : int(random() % (gpu_mib * 6 / 10));
        run(server_, variables_ + "exec " + (bin_ / "simgpu_test").string() + " --program set_stranger " +
                         std::to_string(mib) + " " + std::to_string(random() % gpus) + " 30");
    }
    static std::string nothing() {
        return "0 holders, 0 waiters, " + std::to_string(gpus * (gpu_mib - 4)) + " MiB free\n";
    }
    std::string left_behind() const {
        for (int g = 0; g < gpus; ++g)
            run(server_, variables_ + "exec " + (bin_ / "simgpu_test").string() + " --program set_stranger 0 " +
                             std::to_string(g) + " 0");
        const auto look = [&] { return run(server_, variables_ + "exec " + (bin_ / "lease_worker").string()).out; };
        std::string seen = look();  // the memory of a killed process comes back some time after its end
        for (int k = 0; k < 300 && seen != nothing(); ++k) {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            seen = look();
        }
        return seen;
    }

    std::filesystem::path bin_;
    TemporaryFolder server_;
    std::string variables_;
};

}  // namespace

TEST_F(SharedServer, everybody_finishes_whoever_is_killed_and_whatever_strangers_do) {
    const Ended alone = run(server_, variables_ + localize("1GiB"));
    ASSERT_EQ(alone.exit_code, 0) << alone.err;
    const std::string undisturbed = read_bytes(server_ / "o.csv");
    const char* wanted = std::getenv("GLINT_SHARED_SEEDS");
    const unsigned seeds = wanted ? unsigned(std::stoul(wanted)) : 1;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        std::vector<std::unique_ptr<Run>> runs;
        for (int k = 0; k < count(); ++k) {
            runs.push_back(std::make_unique<Run>());
            runs.back()->memory = std::to_string(30 + random() % 61) + "%";
            runs.back()->kills_left = random() % 4 == 0 ? 1 + int(random() % 2) : 0;
            begin(*runs.back(), random);
        }
        int killed = 0;
        while (!runs.empty()) {
            stranger_comes_or_goes(random);
            for (std::size_t k = 0; k < runs.size();) {
                Run& one = *runs[k];
                if (std::chrono::steady_clock::now() > one.kill_at) one.program->signal(SIGKILL);
                if (one.program->running()) {
                    ++k;
                    continue;
                }
                const Ended ended = one.program->ended();
                if (ended.exit_code == 128 + SIGKILL) {
                    ++killed;
                    begin(one, random);
                    continue;
                }
                EXPECT_EQ(ended.exit_code, 0) << ended.err;
                EXPECT_EQ(read_bytes(one.folder / "o.csv") == undisturbed, true) << "another result";
                for (const std::string& name : one.folder.names())  // ".o.csv.part-PID" is of a run killed as it wrote
                    EXPECT_TRUE(name.starts_with(".") || name == "o.csv") << name;
                runs.erase(runs.begin() + std::ptrdiff_t(k));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        EXPECT_GT(killed, 0);
        RecordProperty("killed_" + std::to_string(seed), killed);
        EXPECT_EQ(left_behind(), nothing());
    }
}

}  // namespace glint::test
