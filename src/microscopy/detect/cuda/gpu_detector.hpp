// Detector for a GPU: detects the spots of many frames in parallel.
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

/// Spots of several frames and their ROIs in device memory; each column has `count` values.
struct GpuSpots {
    std::int64_t count = 0;
    gpu::Buffer<int> places;    ///< frame (0: first of the call), x, y, x_corner, y_corner
    gpu::Buffer<float> starts;  ///< x and y in the ROI, score
    gpu::Buffer<float> pixels;  ///< count * S * S, e-
};

/// Finds the same spots as Detector, in the same order. Scores agree to single-precision rounding. Results can differ
/// only if rounding decides:
/// - a score close to the threshold,
/// - a maximum close to its neighbour,
/// - a pixel close to the background's clipping limit.
///
/// The spots of a frame depend on that frame only. Owns its buffers; not thread-safe. Throws gpu::OutOfMemory and other
/// gpu::GpuError.
class GpuDetector {
  public:
    /// `camera` must outlive it. Throws OptionError like Detector.
    GpuDetector(const gpu::Stream& stream, const gpu::Module& kernels, const CameraView& camera,
                const DetectOptions& options);

    /// Returns the maximum number of frames per call, which the kernels' 32-bit indices limit, independent of memory.
    int max_frames() const;
    /// Enqueues the search in `frames` frames of raw counts and returns before it is complete. `counts` must stay valid
    /// until spot_counts().
    void find(int frames, PixelType type, const gpu::Buffer<std::byte>& counts);
    /// Returns the number of spots of each frame; synchronises the stream.
    std::span<const unsigned> spot_counts();
    /// Returns the ROIs of spots [first, first + count) of all frames, in stream order; valid until the next call.
    GpuSpots& cut(int size, std::int64_t first, std::int64_t count);
    /// Valid after spot_counts(): the noise check of each frame (Detector::noise_check), and its number of NaN and
    /// infinite pixels.
    std::span<const float> spreads() const { return {spreads_.data(), std::size_t(frames_)}; }
    std::span<const unsigned> bad_pixels() const { return {bad_.data(), std::size_t(frames_)}; }

    /// Returns the device time of the kernels of the last find(); synchronise the stream before.
    double seconds() const { return after_.milliseconds_since(before_) / 1000.0; }

  private:
    /// Allocates buffers for `frames` frames if they are too small. Throws gpu::OutOfMemory; a later, smaller call may
    /// succeed.
    void reserve(int frames);
    template <class... Arguments>
    void launch(const std::string& name, std::size_t blocks, unsigned threads, unsigned shared_bytes,
                Arguments... arguments);
    const gpu::Kernel& kernel(const std::string& name);
    void upload_tables(const DetectOptions& options);
    /// The steps of find() in order, each the launch of one or a few kernels.
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
    int frames_ = 0, room_ = 0;  // frames of the last call; capacity of the buffers in frames
    std::size_t max_shared_bytes_;
    gpu::Event before_, after_;  // before and after the search

    gpu::Buffer<unsigned> masked_;  // ten numbers for each CameraView::MaskedPixel; empty if no pixel is masked
    gpu::Buffer<float> offsets_, factors_, noise_maps_, norms_;  // tables; empty if not needed
    gpu::Buffer<int> classes_;
    gpu::Buffer<float> photoelectrons_, score_, narrow_, shot_, inverse_noise_;
    gpu::Buffer<float> observed_, expected_, spread_, min_score_;
    gpu::Buffer<unsigned> marks_, list_, found_, kept_, bad_count_;
    gpu::Buffer<unsigned char> keep_;
    GpuSpots spots_;
    gpu::Pinned<unsigned> kept_here_, bad_;
    gpu::Pinned<float> spreads_;
};

/// Loads the detection kernels. Throws gpu::NoGpu if glint was built without nvcc.
gpu::Module detect_module(const gpu::Context& context);

}  // namespace glint
