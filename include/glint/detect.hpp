// Detection of spots by a weighted score test for a Gaussian spot on a flat background (theory.md, section 5).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/psf.hpp"
#include "glint/rois.hpp"

namespace glint {

struct DetectOptions {
    MatchedFilter filter = {};  ///< Psf::matched_filter()
    double threshold = 0;       ///< of z = N / sigma(N) (eq. 5.5), in standard deviations; 0: 5, or 6 for an EMCCD
};

/// Spots of one frame, ordered by row, then column. Structure of arrays.
struct Spots {
    std::vector<std::int32_t> x, y;  ///< px, the pixel of the maximum
    std::vector<float> score;        ///< z, in standard deviations

    std::size_t count() const { return x.size(); }
    void clear();
};

/// Detects spots frame by frame. Owns its scratch memory, so nothing is allocated per frame. Not thread-safe: use one
/// per thread. The result of a frame depends on that frame only.
class Detector {
  public:
    /// `camera` must outlive the detector. Throws OptionError for a width or threshold out of range.
    Detector(const CameraView& camera, const DetectOptions& options);
    ~Detector();
    Detector(Detector&&) noexcept;

    /// Finds the spots of a frame; clears and fills `spots`. `photoelectrons`: height * width values; NaN marks missing
    /// pixels, which count as beyond the frame's edge. If the frame's noise exceeds that of the camera model by a
    /// factor above 1.25 (see noise_check), the threshold is multiplied by this factor.
    void find(std::span<const float> photoelectrons, Spots& spots);

    /// The noise check of the last frame: standard deviation of the noise on empty regions over that of the camera
    /// model. 1 if the camera's parameters are correct; 0 without information (a constant or tiny frame, or one covered
    /// by spots). Measured on second differences (eq. 5.9), to which spots and a structured background contribute
    /// nothing.
    double noise_check() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// `make_rois` returns an empty stack with the camera's noise; throws OptionError if `size` is out of range or exceeds
/// the frame. `cut_rois` appends a ROI around each spot to such a stack. ROIs at the frame's edge are shifted to lie
/// inside; x_start and y_start are the spot's pixel.
Rois make_rois(const CameraView& camera, int size);
void cut_rois(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots, std::uint32_t frame,
              Rois& rois);

/// Returns a sentence for the user if the median of the frames' noise_check() deviates from 1 by more than the
/// tolerance: which camera parameter may be wrong, and in which direction. Empty otherwise. If `camera` is given and
/// the reciprocal of its gain would explain the noise, or its offset lies above the background, the sentence reports
/// that instead. `background_e`: the movie's typical background, photoelectrons per pixel, which a camera with read
/// noise needs for it (0: not known).
std::string camera_contradiction(std::span<const double> noise_checks, const Camera* camera = nullptr,
                                 double background_e = 0);

}  // namespace glint
