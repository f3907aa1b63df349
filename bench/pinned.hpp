// Shared by benchmarks of fits on GPUs: counts and results in page-locked memory, and the link's own speed.
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

/// The same noise in photoelectrons, as a camera that counts: 100 ADU offset, 0.5 e- per ADU in every pixel; pixel
/// response and EM gain are divided out.
Camera counting(Camera camera);
/// Rounds and clips photoelectrons as a 16-bit camera does.
void quantize(Rois& rois);
/// The counts of quantized ROIs, `copies` times one after the other. T: std::uint16_t or float.
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

/// The link under the traffic of fits, without fits: `up` bytes there and `down` bytes back, in pieces on four streams.
class LinkTraffic {
  public:
    LinkTraffic(const gpu::Context& context, std::size_t up, std::size_t down, std::size_t pieces);
    /// Transfers all of it once. Page-locked memory.
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
