// Small runs of the benchmarks, on the CPU and on the simulated server: each succeeds and prints the documented rows.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/gpu_fit.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/run_program.hpp"

namespace glint::test {
namespace {

/// Writes a camera whose pixels differ, and a movie of a part of its sensor.
void write_camera(const TemporaryFolder& folder) {
    constexpr hsize_t side = 24;
    std::vector<float> offset(side * side, 100), gain(side * side, 0.5f), readnoise(side * side), qe(side * side);
    for (std::size_t k = 0; k < qe.size(); ++k)
        qe[k] = 0.6f + 0.1f * float(k % 9), readnoise[k] = 1 + 0.1f * float(k % 7);
    const auto path = folder / "maps.hdf5";
    const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const hsize_t shape[] = {side, side};
    for (const auto& [name, values] :
         {std::pair("offset", &offset), {"gain", &gain}, {"readnoise", &readnoise}, {"qe", &qe}})
        hdf5::write_values(file, name, H5T_NATIVE_FLOAT, shape, values->data(), path);
    folder.write("camera.toml", "maps = \"maps.hdf5\"\nsensor_roi = [3, 4]\n");
}

/// Returns the rows that a command prints as JSON.
nlohmann::json rows_of(const std::string& command) {
    TemporaryFolder folder;
    const Ended ended = run(folder, command);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return nlohmann::json::parse(ended.out, nullptr, false);
}

std::filesystem::path bin() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }
std::filesystem::path server() { return bin().parent_path() / "simgpu"; }

/// Returns a command that runs on a simulated server with one GPU.
std::string on_server(const std::string& command, const std::string& variables = "") {
    return "unset CUDA_VISIBLE_DEVICES GLINT_GPU_MEMORY_LIMIT; export LD_LIBRARY_PATH=" + server().string() +
           "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SIMGPU_STATE=$PWD/state GLINT_LEASE_DIR=$PWD/leases SIMGPU_LEAKS=1 " +
           "SIMGPU_TIME_SCALE=0.02 SIMGPU_KERNELS=" + server().string() + "/libsimgpu_all_kernels.so " + variables +
           "; exec " + command;
}

struct BenchOnGpu : ::testing::Test {
    void SetUp() override {
        if (!std::filesystem::exists(server() / "libsimgpu_all_kernels.so")) GTEST_SKIP() << "no simulated server";
        if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }
};

struct BenchOfRuntime : BenchOnGpu {
    void SetUp() override {
        BenchOnGpu::SetUp();
        if (!std::filesystem::exists(bin() / "bench_gpu_memory")) GTEST_SKIP() << "built without benchmarks";
    }
};

void expect_positive(const nlohmann::json& row, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        ASSERT_TRUE(row.contains(name)) << name << " in " << row;
        EXPECT_GT(row[name], 0) << name;
    }
}

}  // namespace

TEST(Bench, fit_has_a_row_for_each_model_camera_and_size) {
    const auto rows = rows_of("exec glint bench fit --count 50 --repeats 1 --backend cpu --json");
    ASSERT_EQ(rows.size(), 6u * 3 * 3);
    for (const auto& row : rows) {
        expect_positive(row, {"fits_per_s", "iterations", "speedup_vs_one_core"});
        EXPECT_EQ(row["fits"], 50);
        EXPECT_GE(row["std_over_crlb"].size(), 4u);
    }
    TemporaryFolder folder;
    const Ended table = run(folder, "exec glint bench fit --count 50 --repeats 1 --backend cpu");
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 1 + 54) << table.out;
}

TEST(Bench, localize_has_a_rate_for_the_whole_and_for_each_stage) {
    const std::string small = "exec glint bench localize --frames 20 --size 64 --spots 3 --repeats 1 --folder .";
    const auto result = rows_of(small + " --json");
    EXPECT_EQ(result["frames"], 20);
    expect_positive(result, {"localizations", "frames_per_s", "speedup_vs_one_core"});
    ASSERT_EQ(result["stages"].size(), 6u);
    for (const auto& [stage, rate] : result["stages"].items()) EXPECT_GT(rate, 0) << stage;
    TemporaryFolder folder;
    const Ended table = run(folder, small);
    EXPECT_EQ(table.exit_code, 0) << table.err;
    for (const auto& [stage, rate] : result["stages"].items())
        EXPECT_NE(table.out.find(stage), std::string::npos) << table.out;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{".err", ".out"})) << "its movie is gone";
}

TEST_F(BenchOnGpu, offload_checks_every_decision) {
    const auto result = rows_of(on_server("glint bench offload --small --gpu-memory 10% -q --json"));
    // 9 operations and sizes, each on the host with a cold and a warm GPU, and on the GPU; 6 models of 100 fits.
    ASSERT_EQ(result["cases"].size(), 9u * 3 + 6 * 2);
    for (const auto& one : result["cases"]) {
        expect_positive(one, {"gpu_s"});
        EXPECT_EQ(one["why_not"], "");
    }
    EXPECT_EQ(result["policies"].size(), 6u);
    for (const auto& call : result["calls"]) expect_positive(call, {"call_s", "library_s"});
    EXPECT_GE(result["calls"].size(), 6u);
}

TEST_F(BenchOfRuntime, memory) {
    const auto result =
        rows_of(on_server((bin() / "bench_gpu_memory").string() + " --small --limit-gib 0.0625 --json"));
    expect_positive(result["context"], {"first_creation_s", "creation_s", "release_s"});
    for (const char* of : {"vector", "managed"}) expect_positive(result["host_iteration"][of], {"ns_per_element"});
    expect_positive(result["upload"], {"bytes", "pinned_gb_per_s", "pageable_gb_per_s"});
    ASSERT_EQ(result["epochs"].size(), 4u);
    for (const auto& run : result["epochs"]) expect_positive(run, {"limit_bytes", "seconds"});
}

TEST_F(BenchOfRuntime, sharing) {
    const auto result =
        rows_of(on_server((bin() / "bench_gpu_sharing").string() + " --processes 6 --gib 0.1 --seconds 0.05 --json",
                          "SIMGPU_DEVICES=1x1GiB"));
    EXPECT_EQ(result["processes"], 6);
    EXPECT_EQ(result["succeeded"], 6) << result;
    EXPECT_EQ(result["first_error"], "");
    expect_positive(result, {"wall_s", "wall_over_bound", "mean_context_s"});
}

TEST_F(BenchOnGpu, fit_counts_as_the_camera_of_the_file_does) {
    TemporaryFolder folder;
    write_camera(folder);
    const Ended ended =
        run(folder, on_server("glint bench fit --model GaussianXYNB --camera sCMOS --camera-file camera.toml "
                              "--roi 7 --count 200 --repeats 1 --threads 1 --gpu-bytes 1 --backend gpu --json"));
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const auto rows = nlohmann::json::parse(ended.out);
    ASSERT_EQ(rows.size(), 3u) << "the CPU; the GPU from float32 and from uint16";
    for (std::size_t k = 1; k < rows.size(); ++k) {
        EXPECT_EQ(rows[k]["device"], "Simulated GPU");
        EXPECT_GE(rows[k]["within_1e-3_crlb_of_cpu"], 0.99) << rows[k];  // 1 in 10,000 fits may differ more
    }
}

}  // namespace glint::test
