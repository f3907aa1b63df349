// Shared by benchmarks of GPU fits: counts and results in page-locked memory, and the speed of the link alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "glint/camera.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/roi_view.hpp"

namespace glint::cli {

template <class Call>
double best_seconds(int repeats, const Call& call) {
    double best = 1e300;
    for (int k = 0; k < repeats; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        best = std::min(best, seconds_since(begin));
    }
    return best;
}

/// Returns a camera with the same noise in photoelectrons that delivers counts: 100 ADU offset and 0.5 e- per ADU in
/// every pixel. Pixel response and EM gain are divided out.
Camera counting(Camera camera);
/// Rounds and clips photoelectrons as a 16-bit camera does.
void quantize(Rois& rois);
/// Returns the counts of quantized ROIs, repeated `copies` times. T: std::uint16_t or float.
template <class T>
void write_counts(const Rois& rois, std::size_t copies, std::byte* out);

/// Results of n fits in page-locked memory.
struct PinnedFits {
    PinnedFits(const gpu::Context& context, PsfModel model, std::size_t n)
        : columns(context, (2 * parameter_count(model) + 2) * n), bytes(context, 2 * n) {
        view.model = model;
        float* next = columns.data();
        for (int k = 0; k < parameter_count(model); ++k, next += n) view.theta[k] = next;
        for (int k = 0; k < parameter_count(model); ++k, next += n) view.crlb[k] = next;
        view.log_likelihood_ratio = next, view.p_value = next + n;
        view.iterations = bytes.data(), view.status = reinterpret_cast<FitStatus*>(bytes.data() + n);
    }
    gpu::Pinned<float> columns;
    gpu::Pinned<std::uint8_t> bytes;
    FitsView view;
};

/// Traffic over the link as for fits, without fits: `up` bytes to the GPU and `down` bytes back, in pieces on four
/// streams.
class LinkTraffic {
  public:
    LinkTraffic(const gpu::Context& context, std::size_t up, std::size_t down, std::size_t pieces);
    /// Transfers all bytes once. The memory must be page-locked.
    void run(std::byte* from, std::byte* to);

  private:
    struct Lane {
        gpu::Stream stream;
        gpu::Buffer<std::byte> up, down;
    };
    std::size_t up_piece_, down_piece_, pieces_;
    std::vector<Lane> lanes_;
};

}  // namespace glint::cli
