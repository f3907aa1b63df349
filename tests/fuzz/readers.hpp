// What each fuzzer feeds: a reader given bytes as a file, for libFuzzer and for the replay in the ordinary tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"

namespace glint::fuzz {

using Bytes = std::span<const char>;

/// A folder in memory where it can be, one a process, removed at its end.
class ScratchFolder {
  public:
    ScratchFolder() {
        const bool has_memory_disk = std::filesystem::is_directory("/dev/shm");
        path_ = (has_memory_disk ? "/dev/shm" : std::filesystem::temp_directory_path()) /
                std::filesystem::path("glint-fuzz-" + std::to_string(::getpid()));
        std::filesystem::create_directories(path_);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

inline const std::filesystem::path& scratch_folder() {
    static const ScratchFolder folder;
    return folder.path();
}

inline std::filesystem::path written(Bytes bytes, const char* name) {
    const auto path = scratch_folder() / name;
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(bytes.size()));
    return path;
}

/// Opens a movie and reads its first, its last and a few more frames. Only glint's own errors are an answer.
inline void read_movie(const std::filesystem::path& path) {
    try {
        const auto movie = open_movie(path);
        const std::int64_t frames = movie->info().frames;
        if (frames < 1 || movie->info().width < 1 || movie->info().height < 1) std::abort();
        FrameBlock block;
        for (std::int64_t frame = 0; frame < std::min<std::int64_t>(frames, 20); ++frame) movie->read(frame, 1, block);
        movie->read(frames - 1, 1, block);
        movie->read(0, int(std::min<std::int64_t>(frames, 3)), block);
    } catch (const Error&) {
    }
}

inline void read_any_camera(const std::filesystem::path& path) {
    try {
        const bool is_config = path.extension() == ".yaml";
        const Camera camera =
            read_camera(path, {.instead = {}, .otherwise = 2.0}, {.gain_unit = is_config ? "" : "ADU/e-"}).camera;
        if (camera.has_maps()) CameraView(camera, camera.sensor_width, camera.sensor_height);
    } catch (const Error&) {
    }
}

inline void spe(Bytes bytes) { read_movie(written(bytes, "movie.spe")); }
inline void fits(Bytes bytes) { read_movie(written(bytes, "movie.fits")); }
/// As a movie, and as a camera's maps.
inline void mat(Bytes bytes) {
    read_movie(written(bytes, "movie.mat"));
    read_any_camera(scratch_folder() / "movie.mat");
}
inline void tiff(Bytes bytes) { read_movie(written(bytes, "movie.tif")); }

inline void ims(Bytes bytes) { read_movie(written(bytes, "movie.ims")); }
inline void nd2(Bytes bytes) { read_movie(written(bytes, "movie.nd2")); }
inline void czi(Bytes bytes) { read_movie(written(bytes, "movie.czi")); }

/// The description of an array, which is all of it or a part of a group's, and the bytes of its first chunk, parted by the first zero byte.
inline void zarr(Bytes bytes) {
    const auto zero = std::size_t(std::find(bytes.begin(), bytes.end(), '\0') - bytes.begin());
    const auto folder = scratch_folder() / "movie.zarr";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "c/0/0");
    const Bytes description = bytes.first(zero), chunk = bytes.subspan(std::min(zero + 1, bytes.size()));
    const std::string_view text(description.data(), description.size());
    written(description, text.find("zarr_format\": 3") != text.npos ? "movie.zarr/zarr.json" : "movie.zarr/.zarray");
    written(description, "movie.zarr/.zattrs");
    written(chunk, "movie.zarr/c/0/0/0");
    written(chunk, "movie.zarr/0.0.0");
    read_movie(folder);
}

/// A description and the pixels of a movie, parted by the first zero byte.
inline std::filesystem::path written_beside(Bytes bytes, const char* description, const char* movie) {
    const auto zero = std::size_t(std::find(bytes.begin(), bytes.end(), '\0') - bytes.begin());
    written(bytes.first(zero), description);
    return written(bytes.subspan(std::min(zero + 1, bytes.size())), movie);
}

inline void raw(Bytes bytes) { read_movie(written_beside(bytes, "movie.yaml", "movie.raw")); }
inline void dax(Bytes bytes) { read_movie(written_beside(bytes, "movie.inf", "movie.dax")); }

/// The index of an NDTiff, beside a file of pixels.
inline void ndtiff(Bytes bytes) {
    const auto folder = scratch_folder() / "ndtiff";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "run_NDTiffStack.tif", std::ios::binary | std::ios::trunc) << std::string(4096, 'x');
    std::ofstream(folder / "NDTiff.index", std::ios::binary | std::ios::trunc)
        .write(bytes.data(), std::streamsize(bytes.size()));
    read_movie(folder);
}

inline void read_roi_stack(const std::filesystem::path& path) {
    try {
        const Rois rois = read_rois(path, Camera{});
        if (rois.count() < 1 || rois.pixels.size() != rois.count() * rois.size * rois.size) std::abort();
    } catch (const Error&) {
    }
}

/// As ROIs, and as a map of a camera.
inline void npy(Bytes bytes) {
    read_roi_stack(written(bytes, "rois.npy"));
    const std::string_view toml = "gain = \"rois.npy\"\n";
    read_any_camera(written(toml, "npy.toml"));
}
inline void roi_hdf5(Bytes bytes) { read_roi_stack(written(bytes, "rois.h5")); }

}  // namespace glint::fuzz

/// The body of a fuzz_NAME.cpp.
#define GLINT_FUZZ(reader)                                                        \
    extern "C" int LLVMFuzzerTestOneInput(const char* bytes, std::size_t count) { \
        reader({bytes, count});                                                   \
        return 0;                                                                 \
    }
