// Non-owning views of ROIs and results in the caller's memory, for fits without copies.
//
//     const glint::CameraView conversion(camera, 11, 11);
//     glint::RoiView rois;  // 16-bit counts, n * 11 * 11 values
//     rois.size = 11, rois.count = counts.size() / (11 * 11);
//     rois.type = glint::PixelType::uint16;
//     rois.pixels = reinterpret_cast<const std::byte*>(counts.data());
//     rois.camera = &conversion;
//     const glint::Fits fits = glint::fit(rois, psf, 100);  // pixels of 100 nm
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "glint/camera.hpp"
#include "glint/fits.hpp"
#include "glint/movie.hpp"
#include "glint/rois.hpp"

namespace glint {

/// A stack of n ROIs of S x S px, as camera counts or as photoelectrons. Fields as in Rois; spans may be empty. All
/// memory is borrowed and must stay valid during the fit.
struct RoiView {
    int size = 0;
    std::size_t count = 0;
    PixelType type = PixelType::float32;
    const std::byte* pixels = nullptr;  ///< n * S * S values of `type`, C order
    int gpu = -1;                       ///< GPU that holds `pixels` (all of them); -1: the host
    /// Converts the counts; null if the pixels are photoelectrons. A camera without maps may have any size, as in
    /// CameraView(camera, size, size). A camera with maps must have the size of the movie, to which x_corner and
    /// y_corner refer.
    const CameraView* camera = nullptr;
    std::span<const std::int32_t> x_corner, y_corner;  ///< n, px of the movie; required by a camera with maps
    std::span<const float> x_start, y_start;           ///< n, px in the ROI
    std::span<const float> variance, additive;         ///< n * S * S; variance only without a camera
    std::span<const float> qe;                         ///< n * S * S, only without a camera
    float variance_scalar = 0, qe_scalar = 1;          ///< without a camera
    float excess_noise = 1;                            ///< without a camera

    /// Returns the bytes of the pixels of one ROI.
    std::size_t roi_bytes() const { return std::size_t(size) * size * num_bytes(type); }
};
/// Returns a view of `rois`, which must outlive it.
RoiView view(const Rois& rois);

/// The destination of results: n values per column, as in Fits.
struct FitsView {
    PsfModel model = PsfModel::GaussianXYNB;
    std::array<float*, max_parameters> theta{}, crlb{};  ///< the first parameter_count(model) of each
    float *log_likelihood_ratio = nullptr, *p_value = nullptr;
    std::uint8_t* iterations = nullptr;
    FitStatus* status = nullptr;
};
/// Returns a view of `fits`, which must outlive it.
FitsView view(Fits& fits);

}  // namespace glint
