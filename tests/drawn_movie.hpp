// Movies that a test draws itself, in pixels of 100 nm and for a PSF of 130 nm.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "glint/camera.hpp"
#include "glint/localize.hpp"
#include "glint/movie.hpp"

namespace glint::test {

/// Returns square frames with Poisson noise around `mean(frame)`, in photoelectrons, and the offset of drawn_camera().
template <class Mean>
std::unique_ptr<Movie> drawn_movie(int frames, int edge_px, std::mt19937& random, const Mean& mean) {
    FrameBlock block;
    block.count = frames, block.width = block.height = edge_px;
    block.bytes.resize(block.frame_bytes() * std::size_t(frames));
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int frame = 0; frame < frames; ++frame)
        for (const double e : mean(frame)) *counts++ = std::uint16_t(100 + std::poisson_distribution<int>(e)(random));
    return memory_movie(std::move(block), "drawn.tif");
}

inline Camera drawn_camera() {
    Camera camera;
    camera.offset_adu.scalar = 100;
    return camera;
}

inline LocalizeOptions drawn_options() {
    LocalizeOptions options;
    options.psf.sigma_nm = 130;
    options.pixel_size_nm = 100;
    return options;
}

}  // namespace glint::test
