// The readers that the fuzzers test: each reads bytes as a file, for libFuzzer and for the replay in ordinary tests.
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

/// One folder per process, in memory if possible, removed when the process ends.
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

/// Writing takes ten times as long as reading, so only one in 16 inputs that were read is written. The first is always
/// written, so that an input that is replayed alone is written.
inline int reads_until_copy = 0;
inline bool is_to_be_copied() {
    if (reads_until_copy-- > 0) return false;
    reads_until_copy = 15;
    return true;
}

/// Opens a movie and reads its first, its last and a few more frames; fewer of large frames. Only glint's own errors
/// are accepted.
inline void read_movie(const std::filesystem::path& path) {
    try {
        const auto movie = open_movie(path);
        const std::int64_t frames = movie->info().frames;
        if (frames < 1 || movie->info().width < 1 || movie->info().height < 1) std::abort();
        const std::int64_t pixels = std::int64_t(movie->info().width) * movie->info().height;
        const std::int64_t some = std::min(frames, std::clamp<std::int64_t>((1 << 24) / pixels, 1, 20));
        FrameBlock block;
        for (std::int64_t frame = 0; frame < some; ++frame) movie->read(frame, 1, block);
        movie->read(frames - 1, 1, block);
        movie->read(0, int(std::min<std::int64_t>(some, 3)), block);
    } catch (const Error&) {
    }
}

inline void read_any_camera(const std::filesystem::path& path) {
    try {
        const bool is_config = path.extension() == ".yaml";
        const Camera camera = read_camera(path, {.instead = {}, .otherwise = 2.0},
                                          {.gain_unit = is_config ? "" : "ADU/e-", .exposure_ms = 30})
                                  .camera;
        if (camera.has_maps()) CameraView(camera, camera.sensor_width, camera.sensor_height);
    } catch (const Error&) {
    }
}

inline void spe(Bytes bytes) { read_movie(written(bytes, "movie.spe")); }
inline void sif(Bytes bytes) { read_movie(written(bytes, "movie.sif")); }
inline void dcimg(Bytes bytes) { read_movie(written(bytes, "movie.dcimg")); }
inline void lif(Bytes bytes) { read_movie(written(bytes, "movie.lif")); }
inline void png(Bytes bytes) { read_movie(written(bytes, "movie.png")); }
/// Reads the bytes as the description of spooled frames, beside a file with frames.
inline void spool(Bytes bytes) {
    const auto folder = scratch_folder() / "spool";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "0000000000spool.dat", std::ios::binary | std::ios::trunc) << std::string(4096, 'x');
    std::ofstream(folder / "acquisitionmetadata.ini", std::ios::binary | std::ios::trunc)
        .write(bytes.data(), std::streamsize(bytes.size()));
    read_movie(folder);
}
inline void fits(Bytes bytes) { read_movie(written(bytes, "movie.fits")); }
/// Reads the bytes as a movie, and as a camera's maps.
inline void mat(Bytes bytes) {
    read_movie(written(bytes, "movie.mat"));
    read_any_camera(scratch_folder() / "movie.mat");
}
inline void tiff(Bytes bytes) { read_movie(written(bytes, "movie.tif")); }

inline void ims(Bytes bytes) { read_movie(written(bytes, "movie.ims")); }
inline void nd2(Bytes bytes) { read_movie(written(bytes, "movie.nd2")); }
inline void czi(Bytes bytes) { read_movie(written(bytes, "movie.czi")); }

/// Reads the description of an array and the bytes of its first chunk, separated by the first zero byte. The
/// description is the whole file, or part of a group's.
inline void zarr(Bytes bytes) {
    const auto zero = std::size_t(std::find(bytes.begin(), bytes.end(), '\0') - bytes.begin());
    const Bytes description = bytes.first(zero), chunk = bytes.subspan(std::min(zero + 1, bytes.size()));
    const std::string_view text(description.data(), description.size());
    const bool is_3 = text.find("zarr_format\": 3") != text.npos;
    const std::string folder =
        is_3 ? "3.zarr" : "2.zarr";  // overwrites the same files each time, so that none must be removed
    std::filesystem::create_directories(scratch_folder() / folder / "c/0/0");
    written(description, (folder + (is_3 ? "/zarr.json" : "/.zarray")).c_str());
    written(description, (folder + "/.zattrs").c_str());
    written(chunk, (folder + "/c/0/0/0").c_str());
    written(chunk, (folder + "/0.0.0").c_str());
    read_movie(scratch_folder() / folder);
}

/// Writes a description and the pixels of a movie, which the first zero byte separates.
inline std::filesystem::path written_beside(Bytes bytes, const char* description, const char* movie) {
    const auto zero = std::size_t(std::find(bytes.begin(), bytes.end(), '\0') - bytes.begin());
    written(bytes.first(zero), description);
    return written(bytes.subspan(std::min(zero + 1, bytes.size())), movie);
}

inline void raw(Bytes bytes) { read_movie(written_beside(bytes, "movie.yaml", "movie.raw")); }
inline void dax(Bytes bytes) { read_movie(written_beside(bytes, "movie.inf", "movie.dax")); }

/// Returns the next part of the bytes, whose length is in two bytes before it.
inline Bytes next_part(Bytes& bytes) {
    std::size_t length = 0;
    for (int k = 0; k < 2 && !bytes.empty(); ++k, bytes = bytes.subspan(1))
        length |= std::size_t(static_cast<unsigned char>(bytes[0])) << 8 * k;
    const Bytes part = bytes.first(std::min(length, bytes.size()));
    bytes = bytes.subspan(part.size());
    return part;
}

/// Writes two TIFFs and a text into a folder and reads them as a movie. The first byte chooses their names: unrelated
/// images, a movie and its continuation, or single images of Micro-Manager. Metadata in any of the three files may make
/// them an OME-TIFF set.
inline void tiff_files(Bytes bytes) {
    static constexpr const char* names[][2] = {
        {"1.tif", "2.tif"},
        {"a_MMStack.ome.tif", "a_MMStack_1.ome.tif"},
        {"img_channel000_position000_time000000000_z000.tif", "img_channel000_position000_time000000001_z000.tif"},
        {"img_000000000_GFP_000.tif", "img_000000001_GFP_000.tif"}};
    if (bytes.empty()) return;
    const unsigned kind = static_cast<unsigned char>(bytes[0]) % std::size(names);
    bytes = bytes.subspan(1);
    const std::string folder = "tiffs" + std::to_string(kind);
    std::filesystem::create_directories(scratch_folder() / folder);
    const auto first = written(next_part(bytes), (folder + "/" + names[kind][0]).c_str());
    written(next_part(bytes), (folder + "/" + names[kind][1]).c_str());
    written(bytes, (folder + "/set.companion.ome").c_str());
    read_movie(first);
    read_movie(scratch_folder() / folder);
}

/// Reads the TIFFs of an ACCeNT calibration.
inline void accent(Bytes bytes) {
    std::filesystem::create_directories(scratch_folder() / "accent");
    for (const char* name : {"Baseline", "DC_per_sec", "RN_sq", "Gain"})
        written(next_part(bytes), (std::string("accent/") + name + ".tiff").c_str());
    read_any_camera(scratch_folder() / "accent");
}

/// Reads the bytes as the index of an NDTiff, beside a file of pixels.
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

/// Reads the bytes as ROIs, and as a map of a camera.
inline void npy(Bytes bytes) {
    read_roi_stack(written(bytes, "rois.npy"));
    const std::string_view toml = "gain = \"rois.npy\"\n";
    read_any_camera(written(toml, "npy.toml"));
}
inline void roi_hdf5(Bytes bytes) { read_roi_stack(written(bytes, "rois.h5")); }

}  // namespace glint::fuzz
