// Detector for a GPU: detects the spots of many frames at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detect/cuda/detect_launch.hpp"
#include "glint/detect.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint {

/// Spots of several frames and their ROIs in device memory; columns of `count` values each.
struct GpuSpots {
    std::int64_t count = 0;
    gpu::Buffer<int> places;    ///< frame (0: the first one searched), x, y, x_corner, y_corner
    gpu::Buffer<float> starts;  ///< x and y in the ROI, score
    gpu::Buffer<float> pixels;  ///< count * S * S, e-
};

/// Finds the same spots as Detector, in the same order. Scores agree to single-precision rounding, so results can
/// differ only where a score is that close to the threshold, a maximum to its neighbour, or a pixel to the background's
/// clipping limit. The spots of a frame depend on that frame only. Owns its buffers; not thread-safe. Throws
/// gpu::OutOfMemory and other gpu::GpuError.
class GpuDetector {
  public:
    /// `camera` must outlive it. Throws OptionError as Detector does.
    GpuDetector(const gpu::Stream& stream, const gpu::Module& kernels, const CameraView& camera,
                const DetectOptions& options);

    /// Limit of frames per call by the kernels' 32-bit indices, independent of memory.
    int most_frames() const;
    /// Enqueues the search in `frames` frames of raw counts; returns before it is complete. `counts` must stay valid
    /// until spot_counts().
    void find(int frames, PixelType type, const gpu::Buffer<std::byte>& counts);
    /// The number of spots of each frame; synchronises the stream.
    std::span<const unsigned> spot_counts();
    /// The ROIs of spots [first, first + count) of all frames; valid until the next call. In stream order.
    GpuSpots& cut(int size, std::int64_t first, std::int64_t count);
    /// After spot_counts(): the noise check of each frame (Detector::noise_check), and its number of NaN and infinite
    /// pixels.
    std::span<const float> spreads() const { return {spreads_.data(), std::size_t(frames_)}; }
    std::span<const unsigned> bad_pixels() const { return {bad_.data(), std::size_t(frames_)}; }

    /// Of the kernels that the last find() enqueued, on the device; the stream must have been synchronised.
    double seconds() const { return after_.milliseconds_since(before_) / 1000.0; }

  private:
    /// Allocates for so many frames, unless the buffers suffice. Throws gpu::OutOfMemory; a later, smaller call may
    /// succeed.
    void reserve(int frames);
    template <class... Arguments>
    void launch(const std::string& name, std::size_t blocks, unsigned threads, unsigned shared_bytes,
                Arguments... arguments);
    const gpu::Kernel& kernel(const std::string& name);
    void upload_tables(const DetectOptions& options);
    /// The steps of find(), each the launch of one or a few kernels; in this order.
    void measure_background(PixelType type, const gpu::Buffer<std::byte>& counts);
    void judge_noise(bool for_threshold);
    void search(PixelType type);
    template <class... Arguments>
    void launch_score(const char* kind, int rows, ScoreSums sums, Arguments... arguments);
    void list();
    FrameLaunch frame_launch() const;
    unsigned samples() const { return unsigned(noise_.columns * noise_.rows); }

    gpu::Stream stream_;
    gpu::Module module_;
    std::map<std::string, gpu::Kernel> kernels_;
    const CameraView* camera_;
    float threshold_;
    ScoreLaunch score_launch_{};
    NoiseGrid noise_;
    int frames_ = 0, room_ = 0;  // of the last call; capacity of the buffers
    std::size_t most_shared_bytes_;
    gpu::Event before_, after_;  // of the search

    gpu::Buffer<unsigned> masked_;  // CameraView::MaskedPixel each, ten numbers; empty without any
    gpu::Buffer<float> offsets_, factors_, noise_maps_, norms_;  // tables; empty where not needed
    gpu::Buffer<int> classes_;
    gpu::Buffer<float> photoelectrons_, score_, narrow_, shot_, inverse_noise_;
    gpu::Buffer<float> observed_, expected_, spread_, least_score_;
    gpu::Buffer<unsigned> marks_, list_, found_, kept_, bad_count_;
    gpu::Buffer<unsigned char> keep_;
    GpuSpots spots_;
    gpu::Pinned<unsigned> kept_here_, bad_;
    gpu::Pinned<float> spreads_;
};

/// Loads the detection kernels. Throws gpu::NoGpu if glint was built without nvcc.
gpu::Module detect_module(const gpu::Context& context);

}  // namespace glint
