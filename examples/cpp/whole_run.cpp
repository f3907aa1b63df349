// From movies to finished pictures: whole_run RESULTS MOVIE...; without arguments it simulates a movie.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <glint/error.hpp>
#include <glint/movie_io.hpp>
#include <glint/simulate.hpp>
#include <glint/workflow.hpp>
#include <string>
#include <vector>

std::vector<std::string> simulated() {
    glint::SimulateOptions options;
    options.psf.sigma_nm = 130;
    options.pixel_size_nm = 100;
    options.width = options.height = 64;
    options.frames = 200;
    options.spots_per_frame = 5;
    glint::Camera camera;
    camera.offset_adu.scalar = 100;
    camera.gain_e_per_adu.scalar = 0.5;
    glint::Simulation movie(options, camera);
    glint::FrameBlock block;
    movie.read(0, int(options.frames), block);
    glint::TiffMovieWriter writer("whole_run.tif", movie.info());
    writer.append(block);
    writer.close();
    return {"whole_run.tif"};
}

int main(int count, char** words) {
    try {
        glint::RunOptions options;
        options.movies = count > 2 ? std::vector<std::string>(words + 2, words + count) : simulated();
        options.out = count > 1 ? words[1] : "whole_run";
        options.given.camera.pixel_size = "100nm";
        options.given.camera.offset = 100, options.given.camera.gain = 0.5;
        options.given.psf.sigma = "130nm";
        options.messages.warn = [](const std::string& warning) { std::fprintf(stderr, "%s\n", warning.c_str()); };
        bool complete = true;
        for (const glint::MovieRun& movie : glint::run(options)) {
            std::printf("%s: %s\n", movie.folder.c_str(),
                        movie.error.empty() ? movie.json.c_str() : movie.error.c_str());
            complete = complete && movie.status == glint::MovieRun::Status::complete;
        }
        return complete ? 0 : 1;
    } catch (const glint::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
