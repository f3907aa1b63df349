// Copies a movie through open_movie and TiffMovieWriter, optionally several times. For reference tests in Python.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"

int main(int argc, char** argv) {
    if (argc != 4) return std::fputs("movie_copy MOVIE COPY.tif TIMES\n", stderr), 2;
    try {
        const auto movie = glint::open_movie(argv[1]);
        const glint::MovieInfo& info = movie->info();
        glint::TiffMovieWriter writer(argv[2], info);
        glint::FrameBlock block;
        for (int copy = 0; copy < std::stoi(argv[3]); ++copy)
            for (std::int64_t first = 0; first < info.frames; first += block.count) {
                movie->read(first, int(std::min<std::int64_t>(16, info.frames - first)), block);
                writer.append(block);
            }
        writer.close();
    } catch (const glint::Error& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
