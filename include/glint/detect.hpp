// Finding spots: a weighted score test for a Gaussian spot on a flat background (docs/theory.md, section 5).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/rois.hpp"

namespace glint {

struct DetectOptions {
    double sigma_px = 1.3;  ///< width of a spot, px; 0.3 to 8
    double threshold = 0;   ///< z = N / sigma(N), standard deviations; 0: 5, or 6 on an EMCCD
};

/// Spots of one frame, ordered by row, then column. Structure of arrays.
struct Spots {
    std::vector<std::int32_t> x, y;  ///< px, the pixel of the maximum
    std::vector<float> score;        ///< standard deviations

    std::size_t count() const { return x.size(); }
    void clear();
};

/// Finds spots frame after frame; holds the scratch memory, so nothing is allocated per frame. One per thread; the
/// result of a frame depends on that frame alone.
class Detector {
  public:
    /// `camera` must outlive the detector. Throws OptionError for a sigma or threshold out of range.
    Detector(const CameraView& camera, const DetectOptions& options);
    ~Detector();
    Detector(Detector&&) noexcept;

    /// `photoelectrons`: height * width values. Clears and fills `spots`. Where the frame's noise is more than 1.25
    /// times what the camera model says (see empty_score_spread), the threshold rises by that factor.
    void find(std::span<const float> photoelectrons, Spots& spots);

    /// Noise on empty regions of the last frame over what the camera model says, as a standard deviation: 1 when
    /// the camera's parameters are right; 0 when the frame holds no information (constant, tiny, or all covered by
    /// spots). Measured on second differences of pixels, which neither spots nor a structured background disturb.
    double empty_score_spread() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Cuts a size x size ROI around each spot and appends it to `rois` (whose size, variance_scalar and excess_noise
/// must be set by `make_rois`); a ROI shifts to stay inside the frame, and fits start at
/// the spot's pixel. Throws OptionError when size exceeds the frame.
Rois make_rois(const CameraView& camera, int size);
void cut_rois(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots, std::uint32_t frame,
              Rois& rois);

/// A sentence when the spread of the empty score (median over frames) contradicts the camera model by more than
/// its tolerance: which parameter may be wrong, and in which direction. Empty when all is well.
std::string camera_contradiction(std::span<const double> empty_score_spreads);

}  // namespace glint
