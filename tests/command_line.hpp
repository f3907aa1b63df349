// A folder, small movies, and the program `glint`.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "glint/movie_io.hpp"
#include "glint/simulate.hpp"
#include "tests/run_program.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::test {

inline const std::string camera = " --pixel-size 100nm --offset 100 --gain 1";
inline const std::string given = camera + " --sigma 130nm";

class CommandLine : public ::testing::Test {
  protected:
    /// Writes a movie of random spots, without its truth.
    void make_movie(const std::string& name, std::int64_t frames = 40, int edge = 48) {
        SimulateOptions options;
        options.structure = Structure::random;
        options.psf.sigma_nm = 130;
        options.width = options.height = edge;
        options.frames = frames;
        options.spots_per_frame = 5;
        Camera ideal;
        ideal.offset_adu.scalar = 100;
        const Simulation simulation(options, ideal);
        MovieInfo info = simulation.info();
        info.pixel_size_nm.reset();  // the file contains no pixel size
        TiffMovieWriter writer(folder_ / name, info);
        FrameBlock block;
        for (std::int64_t first = 0; first < frames; first += 40) {
            simulation.read(first, int(std::min<std::int64_t>(40, frames - first)), block);
            writer.append(block);
        }
        writer.close();
    }
    Ended glint(const std::string& arguments) { return run(folder_, "exec glint " + arguments); }
    void expect_fails(const std::string& arguments, int code, const std::string& because) {
        const Ended end = glint(arguments);
        EXPECT_EQ(end.exit_code, code) << arguments << "\n" << end.err;
        EXPECT_NE(end.err.find("glint: "), std::string::npos) << end.err;
        EXPECT_NE(end.err.find(because), std::string::npos) << end.err;
        EXPECT_EQ(end.out, "") << "results only on stdout";
    }
    bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

    TemporaryFolder folder_;
};

}  // namespace glint::test
