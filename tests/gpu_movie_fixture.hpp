// Shared by tests of movies on a GPU, real or simulated.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "glint/gpu_fit.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/simulated_movie.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::gpu_movie {

constexpr int frames = 40, width = 64, height = 48;
constexpr std::uint64_t mib = gpu::test::mib;

inline Camera camera() { return test::scmos_camera(); }
inline Camera with_maps() { return test::mapped_camera(width, height); }

inline Psf psf(PsfModel model = PsfModel::GaussianXYNB) {
    Psf psf;
    psf.model = model, psf.sigma_nm = 130;
    return psf;
}

inline FrameBlock simulated(const Camera& by, double spots = 8, int count = frames, int size = 0) {
    return test::simulated_frames(by, size ? size : width, size ? size : height, count, spots);
}

inline std::unique_ptr<Movie> movie() {
    static const FrameBlock block = simulated(camera());
    return memory_movie(block, "simulated.tif");
}

inline LocalizeOptions options(Backend backend) {
    LocalizeOptions how;
    how.psf = psf();
    how.pixel_size_nm = 100;
    how.threads = 3;
    how.memory_bytes = 16 * width * height * 2;  // several blocks
    how.backend = backend;
    how.gpu_memory_bytes = 64 * mib;
    how.gpu_timeout_s = 60;  // a test that waits so long has failed
    how.always_gpu = true;   // these tests are not about the cost model
    return how;
}

class GpuMovie : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }

    /// Returns the bytes of the output of a run.
    std::string bytes_of_run(const LocalizeOptions& how, LocalizeResult* result = nullptr) {
        const auto out = folder / (std::to_string(++runs) + ".csv");
        const LocalizeResult done = localize(*movie(), camera(), out, how);
        if (result) *result = done;
        return test::read_bytes(out);
    }
    const std::string& undisturbed() {
        static const std::string bytes = bytes_of_run(options(Backend::gpu));
        return bytes;
    }

    test::TemporaryFolder folder;
    int runs = 0;
};

/// Returns whether two rows have the same frame and agree within `part` of the standard errors.
inline bool is_same(const Localizations& cpu, std::size_t i, const Localizations& gpu, std::size_t k, float part) {
    const auto near = [](float a, float b, float most) { return std::abs(a - b) <= most; };
    return std::hypot(cpu.x_px[i] - gpu.x_px[k], cpu.y_px[i] - gpu.y_px[k]) <= part * cpu.lpx_px[i] &&
           near(cpu.photons[i], gpu.photons[k], part * cpu.photons_unc[i]) &&
           near(cpu.bg[i], gpu.bg[k], part * cpu.bg_unc[i]) &&
           near(cpu.lpx_px[i], gpu.lpx_px[k], 0.01f * cpu.lpx_px[i]) &&
           near(cpu.detection_score[i], gpu.detection_score[k], 1e-3f * cpu.detection_score[i]);
}

/// Expects a partner for all but a few rows. A row may lack one if rounding caused one more iteration
/// (docs/decisions/0016-gpu-math-functions.md). That happens in 1 of 10,000 single fits, so almost never in more than 3
/// of the thousand rows of a test.
inline void expect_same(const Localizations& cpu, const Localizations& gpu, float part = 1e-3f,
                        std::size_t max_unpaired = 3) {
    std::size_t alone = std::max(cpu.size(), gpu.size()), begin = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        while (begin < gpu.size() && gpu.frame[begin] < cpu.frame[i]) ++begin;
        std::size_t k = begin;
        while (k < gpu.size() && gpu.frame[k] == cpu.frame[i] && !is_same(cpu, i, gpu, k, part)) ++k;
        if (k < gpu.size() && gpu.frame[k] == cpu.frame[i]) --alone;
    }
    EXPECT_LE(alone, max_unpaired) << "of " << cpu.size() << " rows";
    EXPECT_TRUE(std::is_sorted(gpu.frame.begin(), gpu.frame.end()));
}

}  // namespace glint::gpu_movie
