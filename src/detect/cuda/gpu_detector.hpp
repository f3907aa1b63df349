// Finding spots on a GPU, many frames at once: the GPU's Detector.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detect/cuda/detect_launch.hpp"
#include "glint/detect.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint {

/// Spots of some frames and their ROIs, on the GPU; columns of `count` values each.
struct GpuSpots {
    std::int64_t count = 0;
    gpu::Buffer<int> places;    ///< frame (from the first of those searched), x, y, x_corner, y_corner
    gpu::Buffer<float> starts;  ///< x and y in the ROI, score
    gpu::Buffer<float> pixels;  ///< count * S * S, e-
};

/// Finds what Detector finds, in the same order: scores agree to float rounding, so that only a spot whose score is
/// within that of the threshold, or a maximum that is within that of its neighbour, may be one more or one less; and
/// likewise a pixel within that of the background's clipping limit. The spots of a frame depend on that frame alone.
/// Holds its buffers; use one from one thread at a time. Throws gpu::OutOfMemory and other gpu::GpuError.
class GpuDetector {
  public:
    /// `camera` must outlive it. Throws OptionError as Detector does.
    GpuDetector(const gpu::Stream& stream, const gpu::Module& kernels, const CameraView& camera,
                const DetectOptions& options);

    /// Frames that can be searched at once, whatever memory there is.
    int most_frames() const;
    /// Uploads so many frames of raw counts and looks for spots; returns before that is done. `counts` must be pinned
    /// and stay until spot_counts().
    void find(int frames, PixelType type, const std::byte* counts);
    /// How many spots each frame has; waits for it.
    std::span<const unsigned> spot_counts();
    /// The ROIs of spots [first, first + count) of all frames; valid until the next call. In stream order.
    GpuSpots& cut(int size, std::int64_t first, std::int64_t count);
    /// After cut() of all spots: the noise on empty regions (Detector::empty_score_spread), and the pixels that were no
    /// number, of each frame. In stream order: read them after the stream was waited for.
    void measure_noise();
    std::span<const float> spreads() const { return {spreads_.data(), std::size_t(frames_)}; }
    std::span<const unsigned> bad_pixels() const { return {bad_.data(), std::size_t(frames_)}; }

    /// Of the last frames, on the GPU; after the stream was waited for.
    struct Times {
        double upload, kernels;  ///< s; the kernels until spot_counts()
    };
    Times times() const;

  private:
    void reserve(int frames, PixelType type);
    template <class... Arguments>
    void launch(const std::string& name, std::size_t blocks, unsigned threads, unsigned shared_bytes,
                Arguments... arguments);
    const gpu::Kernel& kernel(const std::string& name);
    void upload_tables(const DetectOptions& options);
    void convert(PixelType type);
    void measure_background();
    void judge_noise(bool for_threshold);
    void score();
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
    int frames_ = 0, room_ = 0;  // in hand; that the buffers were made for
    std::size_t most_shared_bytes_;
    std::array<gpu::Event, 3> times_;  // before, sent, found

    gpu::Buffer<float> offsets_, factors_, noise_maps_, norms_;  // tables; empty where there are none
    gpu::Buffer<int> classes_;
    gpu::Buffer<std::byte> counts_;
    gpu::Buffer<float> photoelectrons_, score_, narrow_, shot_, inverse_sigma_;
    gpu::Buffer<float> observed_, expected_, median_, spread_, least_score_;
    gpu::Buffer<unsigned> marks_, list_, found_, kept_, bad_count_;
    gpu::Buffer<unsigned char> keep_;
    GpuSpots spots_;
    gpu::Pinned<unsigned> kept_here_, bad_;
    gpu::Pinned<float> spreads_;
};

/// The kernels for that GPU. Throws gpu::NoGpu in a glint that was built without nvcc.
gpu::Module detect_module(const gpu::Context& context);

}  // namespace glint
