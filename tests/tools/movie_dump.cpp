// Prints the result of open_movie as JSON, and writes the frames as raw native bytes. For reference tests in Python.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"

namespace {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
}

const char* to_name(glint::PixelType type) {
    return type == glint::PixelType::uint8 ? "uint8" : type == glint::PixelType::uint16 ? "uint16" : "float32";
}

/// "channel=1", "z=4", "position=0"
glint::MovieChoice choice_of(int count, char** arguments) {
    glint::MovieChoice choice;
    for (const std::string& argument : std::vector<std::string>(arguments, arguments + count)) {
        const std::string name = argument.substr(0, argument.find('=')), value = argument.substr(name.size() + 1);
        if (name == "channel") choice.channel = value;
        if (name == "z") choice.z = std::stoll(value);
        if (name == "position") choice.position = value;
    }
    return choice;
}

/// "also=b.tif": another file of the movie.
std::vector<std::filesystem::path> paths_of(const char* path, int count, char** arguments) {
    std::vector<std::filesystem::path> paths{path};
    for (const std::string& argument : std::vector<std::string>(arguments, arguments + count))
        if (argument.starts_with("also=")) paths.push_back(argument.substr(5));
    return paths;
}

void dump(const std::vector<std::filesystem::path>& paths, const char* frames_path, int frames_per_block,
          const glint::MovieChoice& choice) {
    const auto movie = glint::open_joined_movie(paths, choice);
    const glint::MovieInfo& info = movie->info();
    std::cout << nlohmann::json{{"name", info.name},
                                {"width", info.width},
                                {"height", info.height},
                                {"frames", info.frames},
                                {"type", to_name(info.type)},
                                {"pixel_size_nm", or_null(info.pixel_size_nm)},
                                {"offset_adu", or_null(info.offset_adu)},
                                {"gain_e_per_adu", or_null(info.gain_e_per_adu)},
                                {"em_gain", or_null(info.em_gain)},
                                {"exposure_ms", or_null(info.exposure_ms)},
                                {"camera", info.camera},
                                {"planes", info.planes},
                                {"warnings", info.warnings}}
                     .dump()
              << "\n";
    std::ofstream out(frames_path, std::ios::binary);
    glint::FrameBlock block;
    for (std::int64_t first = 0; first < info.frames; first += frames_per_block) {
        movie->read(first, int(std::min<std::int64_t>(frames_per_block, info.frames - first)), block);
        out.write(reinterpret_cast<const char*>(block.bytes.data()),
                  std::streamsize(block.count * block.frame_bytes()));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4)
        return std::fputs("movie_dump MOVIE FRAMES_OUT FRAMES_PER_BLOCK [channel=1] [z=4] [also=MOVIE]\n", stderr), 2;
    try {
        dump(paths_of(argv[1], argc - 4, argv + 4), argv[2], std::stoi(argv[3]), choice_of(argc - 4, argv + 4));
    } catch (const glint::Error& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
