// The layout of a batch of ROIs and of its results in one piece of memory, on a GPU or shared with a warm worker.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "fit/fit_setup.hpp"

namespace glint {

/// Which columns the rows of a stack have.
struct BatchKind {
    int size = 0;  ///< of ROIs, px
    PixelType type = PixelType::float32;
    bool corners = false, variance = false, qe = false, additive = false;  ///< which of RoiView's columns are there
    bool maps = false;                                                     ///< whether the camera has maps
    int known_starts = 0, parameters = 0;
    std::size_t pixels() const { return std::size_t(size) * std::size_t(size); }
};
BatchKind kind_of(const RoiView& rois, const Starts& starts, const Psf& psf);

/// Byte offsets of the parts of a batch of ROIs: of the uploaded data in one piece of memory, of the results in
/// another.
struct BatchLayout {
    BatchKind kind;
    std::int64_t rows = 0;
    std::size_t pixels = 0, corners = 0, variance = 0, additive = 0, start = 0,
                up = 0;  ///< `up`: total; qe follows variance
    std::size_t columns = 0, bytes = 0, down = 0;
};
BatchLayout layout_of(const BatchKind& kind, std::int64_t rows);

/// A range of host (or foreign device) memory, and its place in the batch.
struct Part {
    std::byte* data;
    std::size_t bytes, at;  ///< `at`: offset in the batch
    int gpu = -1;           ///< GPU that holds `data`; -1: the host
};

/// The parts of rows [first, first + layout.rows) in the caller's memory, in the order of the layout.
std::vector<Part> up_parts(const RoiView& rois, const Starts& starts, const BatchLayout& layout, std::int64_t first);
/// The destinations of the results, in the order in which the kernel writes them: theta, CRLB, LLR, p value, then the
/// bytes.
std::vector<Part> down_parts(const FitsView& out, const BatchLayout& layout, std::int64_t first);

/// Copies between the parts and a batch that mirrors the layout from offset `begin` on. Uses all cores, because a
/// single core is slower than a GPU's link (7 GB/s against 54 on PCIe 5).
enum class CopyTo { batch, parts };
void copy_parts(const std::vector<Part>& parts, std::byte* batch, std::size_t begin, CopyTo to);

}  // namespace glint
