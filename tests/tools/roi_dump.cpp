// Prints the result of read_rois as JSON, and writes the pixels as float32. For reference tests in Python.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"

int main(int argc, char** argv) {
    if (argc != 5) return std::fputs("roi_dump ROIS PIXELS_OUT OFFSET_ADU GAIN_E_PER_ADU\n", stderr), 2;
    try {
        glint::Camera camera;
        camera.offset_adu.scalar = std::stof(argv[3]);
        camera.gain_e_per_adu.scalar = std::stof(argv[4]);
        const glint::Rois rois = glint::read_rois(argv[1], camera);
        std::cout << nlohmann::json{{"size", rois.size},
                                    {"count", rois.count()},
                                    {"x_corner", rois.x_corner},
                                    {"y_corner", rois.y_corner},
                                    {"frame", rois.frame}}
                         .dump()
                  << "\n";
        std::ofstream(argv[2], std::ios::binary)
            .write(reinterpret_cast<const char*>(rois.pixels.data()), std::streamsize(4 * rois.pixels.size()));
    } catch (const glint::Error& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
