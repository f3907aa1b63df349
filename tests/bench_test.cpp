// `glint bench fit` with a GPU, on the simulated server: it measures the fit of the same spots as the CPU's.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "glint/gpu_fit.hpp"
#include "io/hdf5_file.hpp"
#include "tests/run_program.hpp"

namespace glint::test {
namespace {

/// A sensor whose pixels respond differently, and a movie that is a part of it.
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

}  // namespace

TEST(BenchFit, on_a_gpu_counts_as_the_camera_of_the_file_does) {
    const auto server = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "simgpu";
    if (!std::filesystem::exists(server / "libsimgpu_all_kernels.so")) GTEST_SKIP() << "no simulated server";
    if (!has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    TemporaryFolder folder;
    write_camera(folder);
    const Ended ended = run(folder, "unset CUDA_VISIBLE_DEVICES; export LD_LIBRARY_PATH=" + server.string() +
                                        "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SIMGPU_STATE=$PWD/state "
                                        "GLINT_LEASE_DIR=$PWD/leases SIMGPU_KERNELS=" +
                                        server.string() +
                                        "/libsimgpu_all_kernels.so; exec glint bench fit --model GaussianXYNB "
                                        "--camera sCMOS --camera-file camera.toml --roi 7 --count 200 --repeats 1 "
                                        "--threads 1 --gpu-bytes 1 --backend gpu --json");
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const auto rows = nlohmann::json::parse(ended.out);
    ASSERT_EQ(rows.size(), 3u) << "the CPU; the GPU from float32 and from uint16";
    for (std::size_t k = 1; k < rows.size(); ++k) {
        EXPECT_EQ(rows[k]["device"], "Simulated GPU");
        EXPECT_GE(rows[k]["within_1e-3_crlb_of_cpu"], 0.99) << rows[k];  // 1 in 10,000 may be further
    }
}

}  // namespace glint::test
