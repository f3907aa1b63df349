// Fixture for tests that localize a movie into a file: a small movie with spots, and runs that stop or fail at a frame.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::test {

struct Pipeline : ::testing::Test {
    static constexpr int width = 48, height = 40, frames = 60, spots_per_frame = 3;
    static constexpr double background = 10, photons = 1500, sigma_px = 1.3;

    static std::unique_ptr<Movie> movie() {
        static const FrameBlock block = spots_movie();
        return memory_movie(block, "spots.tif");
    }

    static Camera camera() {
        Camera camera;
        camera.offset_adu.scalar = 100;
        return camera;
    }

    static LocalizeOptions options(int threads = 2) {
        LocalizeOptions options;
        options.psf.sigma_nm = sigma_px * 100;
        options.pixel_size_nm = 100;
        options.fit.psf_misfit = 0.05;  // fixed, not estimated
        options.threads = threads;
        return options;
    }

    /// Fails when a certain frame is requested, or stops the run when the frame is read to localize it. Earlier reads
    /// do not count: the search for single spots, and the survey of pixels in 32 of the frames.
    class TroubledMovie : public Movie {
      public:
        TroubledMovie(std::int64_t frame, StopFlag* stop) : frame_(frame), stop_(stop) {}
        const MovieInfo& info() const override { return movie_->info(); }
        void read(std::int64_t first, int count, FrameBlock& block) override {
            const bool now = first <= frame_ && frame_ < first + count && count < frames;
            if (now && stop_ && first > 0 && ++asked_ > 1 + is_surveyed()) *stop_ = true;
            if (now && !stop_) throw InputError("spots.tif: frame is damaged");
            movie_->read(first, count, block);
        }

      private:
        int is_surveyed() const {
            for (std::int64_t k = 0; k < 32; ++k)
                if (k * frames / 32 == frame_) return 1;
            return 0;
        }
        std::unique_ptr<Movie> movie_ = movie();
        std::int64_t frame_;
        StopFlag* stop_;
        int asked_ = 0;
    };

    /// Returns the output of an undisturbed run.
    std::string reference() {
        const auto out = folder_ / "reference.csv";
        localize(*movie(), camera(), out, options());
        return read_bytes(out);
    }
    std::string message_of(const LocalizeOptions& how, const std::string& name) {
        try {
            localize(*movie(), camera(), folder_ / name, how);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    /// Runs with one thread and stops when the run reads this frame to localize it.
    LocalizeResult stopped_at(std::int64_t frame, const std::filesystem::path& out) {
        StopFlag stop{false};
        LocalizeOptions how = options(1);
        how.memory_bytes = 4 * width * height * 2;
        how.stop = &stop;
        TroubledMovie stopping(frame, &stop);
        return localize(stopping, camera(), out, how);
    }

    TemporaryFolder folder_;

  private:
    static double share(double pixel, double center) {
        const double scale = 1 / (std::sqrt(2.0) * sigma_px);
        return 0.5 * (std::erf((pixel + 0.5 - center) * scale) - std::erf((pixel - 0.5 - center) * scale));
    }

    /// Returns spots on a fixed grid, jittered from frame to frame, with Poisson noise. Counts are photoelectrons +
    /// 100.
    static FrameBlock spots_movie() {
        std::mt19937 random(3);
        std::uniform_real_distribution<double> jitter(-2, 2);
        FrameBlock block;
        block.count = frames, block.width = width, block.height = height;
        block.bytes.resize(block.frame_bytes() * frames);
        auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
        for (int frame = 0; frame < frames; ++frame) {
            double x[spots_per_frame], y[spots_per_frame];
            for (int k = 0; k < spots_per_frame; ++k) x[k] = 10 + 13 * k + jitter(random), y[k] = 20 + jitter(random);
            for (int row = 0; row < height; ++row)
                for (int column = 0; column < width; ++column) {
                    double mu = background;
                    for (int k = 0; k < spots_per_frame; ++k) mu += photons * share(column, x[k]) * share(row, y[k]);
                    *counts++ = std::uint16_t(100 + std::poisson_distribution<int>(mu)(random));
                }
        }
        return block;
    }
};

}  // namespace glint::test
