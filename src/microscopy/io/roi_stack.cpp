// Reads ROI stacks: detects the format by its content, then converts counts to photoelectrons.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/files/input_file.hpp"
#include "io/movie_readers.hpp"
#include "io/roi_readers.hpp"
#include "io/tiff/ome_set.hpp"

namespace glint {
namespace {

constexpr int rois_per_block = 1024;

void append_counts(const FrameBlock& block, std::vector<float>& out) {
    const std::size_t values = std::size_t(block.count) * std::size_t(block.width) * std::size_t(block.height);
    const std::size_t old = out.size();
    out.resize(old + values);
    for (std::size_t k = 0; k < values; ++k) {
        const std::byte* from = block.bytes.data() + k * std::size_t(num_bytes(block.type));
        std::uint16_t word = 0;
        if (block.type == PixelType::uint8) out[old + k] = float(std::to_integer<int>(*from));
        if (block.type == PixelType::uint16) std::memcpy(&word, from, sizeof word), out[old + k] = float(word);
        if (block.type == PixelType::float32) std::memcpy(&out[old + k], from, sizeof(float));
    }
}

void check_inside(const CameraView& view, const RoiCounts& rois, std::size_t k, const std::string& file) {
    const std::int64_t x = rois.x_corner[k], y = rois.y_corner[k];
    if (x + rois.size <= view.width() && y + rois.size <= view.height()) return;
    throw InputError(
        fmt::format("{}: ROI {} of {} px at ({}, {}) lies outside the {}x{} pixels that the camera's maps have", file,
                    k, rois.size, x, y, view.width(), view.height()));
}

void copy_window(std::span<const float> map, int map_width, int x, int y, int size, float* out) {
    for (int row = 0; row < size; ++row, out += size)
        std::copy_n(map.data() + std::size_t(y + row) * std::size_t(map_width) + std::size_t(x), size, out);
}

}  // namespace

RoiCounts read_roi_counts(const std::filesystem::path& path) {
    const InputFile file(path);
    if (begins_like_tiff(file)) return read_tiff_rois(path);
    if (begins_with(file, "\x93NUMPY")) return read_npy_rois(path);
    if (begins_with(file, "\x89HDF\r\n\x1a\n")) return read_hdf5_rois(path);
    throw InputError(fmt::format(
        "{}: is no stack of ROIs: it begins neither like .npy nor HDF5 nor TIFF; a movie is for `glint localize`",
        path.string()));
}

CameraView camera_of_rois(const Camera& camera, const RoiCounts& rois, const std::string& file) {
    if (!camera.has_maps()) return CameraView(camera, rois.size, rois.size);
    if (rois.x_corner.empty())
        throw OptionError(
            fmt::format("{}: does not say where its ROIs lie, so the camera's maps cannot be applied: give an "
                        "HDF5 stack with x_corner and y_corner, or a camera without maps",
                        file));
    const int width = camera.sensor_width - camera.roi_x, height = camera.sensor_height - camera.roi_y;
    // CameraView reports a corner outside the sensor.
    const CameraView view(camera, std::max(width, rois.size), std::max(height, rois.size));
    for (std::size_t k = 0; k < rois.count; ++k) check_inside(view, rois, k, file);
    return view;
}

RoiView view(const RoiCounts& rois, const CameraView& camera) {
    RoiView to;
    to.size = rois.size, to.count = rois.count, to.type = rois.type, to.pixels = rois.pixels(), to.camera = &camera;
    to.x_corner = rois.x_corner, to.y_corner = rois.y_corner;
    return to;
}

RoiCounts read_tiff_rois(const std::filesystem::path& path) {
    const auto [movie, truncated, ome, axes] = open_tiff_movie(path);
    const MovieInfo& info = movie->info();
    if (truncated) throw InputError(info.warnings.back() + ": copy the file again");
    require_one_ome_file(ome, path);
    const std::string other = other_number_of_frames(ome, info.name, info.frames);
    if (!other.empty()) throw InputError(other + ": give one file with all ROIs");
    RoiCounts rois;
    rois.size = roi_size_of_shape({std::uint64_t(info.frames), std::uint64_t(info.height), std::uint64_t(info.width)},
                                  path.string());
    FrameBlock block;
    for (std::int64_t first = 0; first < info.frames; first += rois_per_block) {
        movie->read(first, int(std::min<std::int64_t>(rois_per_block, info.frames - first)), block);
        append_counts(block, rois.floats);
    }
    rois.count = std::size_t(info.frames);
    return rois;
}

Rois read_rois(const std::filesystem::path& path, const Camera& camera) {
    RoiCounts counts = read_roi_counts(path);
    const CameraView view = camera_of_rois(camera, counts, path.string());
    const bool maps = camera.has_maps();
    const std::size_t values = counts.values_of_roi(), bytes = values * std::size_t(num_bytes(counts.type));
    Rois rois;
    rois.size = counts.size;
    resize_large(rois.pixels, counts.count * values);
    if (!view.variance_map().empty()) resize_large(rois.variance, rois.pixels.size());
    if (!view.qe_map().empty()) resize_large(rois.qe, rois.pixels.size());
    in_own_arena([&] {
        using Range = tbb::blocked_range<std::size_t>;
        tbb::parallel_for(Range(0, rois.count(), rois_per_block), [&](const Range& some) {
            for (std::size_t k = some.begin(); k < some.end(); ++k) {
                const int x = maps ? counts.x_corner[k] : 0, y = maps ? counts.y_corner[k] : 0;
                view.window_to_photoelectrons(counts.pixels() + k * bytes, counts.type, x, y, rois.size, rois.size,
                                              rois.pixels.data() + k * values);
                if (!rois.variance.empty())
                    copy_window(view.variance_map(), view.width(), x, y, rois.size, rois.variance.data() + k * values);
                if (!rois.qe.empty())
                    copy_window(view.qe_map(), view.width(), x, y, rois.size, rois.qe.data() + k * values);
            }
        });
    });
    rois.x_corner = std::move(counts.x_corner);
    rois.y_corner = std::move(counts.y_corner);
    rois.frame = std::move(counts.frame);
    rois.variance_scalar = view.variance_scalar();
    rois.qe_scalar = view.qe_scalar();
    rois.excess_noise = view.excess_noise();
    return rois;
}

}  // namespace glint
