// Counts in page-locked memory, and the speed of the link alone.
// SPDX-License-Identifier: MIT
#include "bench/pinned.hpp"

#include <tbb/parallel_for.h>

#include <cmath>
#include <cstring>

#include "base/arena.hpp"

namespace glint::cli {
namespace {

constexpr float offset_adu = 100, gain = 0.5f;  // of the counts

}  // namespace

Camera counting(Camera camera) {
    camera.offset_adu = {offset_adu, {}};
    camera.gain_e_per_adu = camera.relative_qe;
    const float divided_out = gain * float(camera.em_gain);
    camera.gain_e_per_adu.scalar *= divided_out;
    for (float& response : camera.gain_e_per_adu.map) response *= divided_out;
    camera.roi_x = camera.roi_y = 0;  // the corners of the ROIs are positions on the sensor
    return camera;
}

void quantize(Rois& rois) {
    for (float& e : rois.pixels)
        e = (std::clamp(std::round(e / gain + offset_adu), 0.0f, 65535.0f) - offset_adu) * gain;
}

template <class T>
void write_counts(const Rois& rois, std::size_t copies, std::byte* out) {
    const std::size_t n = rois.pixels.size();
    T* to = reinterpret_cast<T*>(out);
    for (std::size_t k = 0; k < n; ++k) to[k] = T(std::round(rois.pixels[k] / gain + offset_adu));
    const auto copy = [&](std::size_t c) { std::memcpy(to + c * n, to, n * sizeof(T)); };
    in_own_arena([&] { tbb::parallel_for(std::size_t(1), copies, copy); });
}
template void write_counts<std::uint16_t>(const Rois&, std::size_t, std::byte*);
template void write_counts<float>(const Rois&, std::size_t, std::byte*);

LinkTraffic::LinkTraffic(const gpu::Context& context, std::size_t up, std::size_t down, std::size_t pieces)
    : up_piece_(up / pieces), down_piece_(down / pieces), pieces_(pieces) {
    for (int k = 0; k < 4; ++k) {
        const gpu::Stream stream(context);
        lanes_.push_back({stream, {stream, up_piece_}, {stream, down_piece_}});
        gpu::fill(stream, lanes_.back().down, 0);  // downloads should read memory that has been written
        stream.synchronize();
    }
}

void LinkTraffic::run(std::byte* from, std::byte* to) {
    for (std::size_t k = 0; k < pieces_; ++k) {
        Lane& lane = lanes_[k % lanes_.size()];
        gpu::upload(lane.stream, lane.up, {from + k * up_piece_, up_piece_});
        gpu::download(lane.stream, {to + k * down_piece_, down_piece_}, lane.down);
    }
    for (const Lane& lane : lanes_) lane.stream.synchronize();
}

}  // namespace glint::cli
