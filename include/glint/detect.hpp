// Detection of spots by a weighted score test for a Gaussian spot on a flat background (theory.md, section 5).
//
//     const glint::CameraView view(camera, movie.info().width, movie.info().height);
//     glint::Detector detector(view, {.filter = psf.matched_filter(100)});  // pixels of 100 nm
//     glint::FrameBlock block;
//     movie.read(0, 1, block);
//     std::vector<float> photoelectrons(std::size_t(block.width) * block.height);
//     view.to_photoelectrons(block.frame(0), block.type, photoelectrons);
//     glint::Spots spots;
//     detector.find(photoelectrons, spots);
//     glint::Rois rois = glint::make_rois(view, 7);
//     glint::cut_rois(photoelectrons, view, spots, 0, rois);  // ready for fit()
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

/// Options of Detector.
struct DetectOptions {
    MatchedFilter filter = {};  ///< from Psf::matched_filter()
    /// Threshold of z = N / sigma(N) (eq. 5.5), in standard deviations, 1 to 1000; 0: 5, or 6 for an EMCCD.
    double threshold = 0;
};

/// Spots of one frame, ordered by row, then column. Structure of arrays.
struct Spots {
    std::vector<std::int32_t> x, y;  ///< px, the pixel of the maximum
    std::vector<float> score;        ///< z, in standard deviations

    /// Returns the number of spots.
    std::size_t count() const { return x.size(); }
    void clear();
};

/// Detects spots frame by frame. Owns its scratch memory, so that it does not allocate per frame. The result of a frame
/// depends on that frame only. Not thread-safe: use one per thread.
class Detector {
  public:
    /// `camera` must outlive the detector. Throws OptionError for a width or threshold out of range.
    Detector(const CameraView& camera, const DetectOptions& options);
    ~Detector();
    Detector(Detector&&) noexcept;

    /// Finds the spots of a frame; clears and fills `spots`. `photoelectrons`: height * width values in C order. NaN
    /// marks a missing pixel, which counts as beyond the frame's edge. If the frame's noise exceeds that of the camera
    /// model by a factor above 1.25 (see noise_check()), multiplies the threshold by this factor. Throws OptionError
    /// for another number of values.
    void find(std::span<const float> photoelectrons, Spots& spots);

    /// Returns the noise check of the last frame: standard deviation of the noise on empty regions over that of the
    /// camera model. 1 if the camera's parameters are correct; 0 without information (a constant or tiny frame, or one
    /// covered by spots). Uses second differences (eq. 5.9), to which spots and a structured background do not
    /// contribute.
    double noise_check() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Returns an empty stack with the camera's noise, for cut_rois(). `size`: edge of a ROI, px. Throws OptionError if
/// `size` is out of range or exceeds the frame.
Rois make_rois(const CameraView& camera, int size);
/// Appends a ROI around each spot to a stack of make_rois(). Shifts ROIs at the frame's edge so that they lie inside.
/// x_start and y_start are the spot's pixel. `photoelectrons`: as for Detector::find().
void cut_rois(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots, std::uint32_t frame,
              Rois& rois);

/// Returns a warning if the median of the frames' noise_check() deviates from 1 by more than the tolerance: which
/// camera parameter may be wrong, and in which direction. Else empty.
///
/// With `camera`, the warning also reports if the reciprocal of its gain would explain the noise, or if its offset is
/// above the background. For a camera with read noise this needs `background_e`, the movie's typical background in
/// photoelectrons per pixel; 0: unknown.
std::string camera_contradiction(std::span<const double> noise_checks, const Camera* camera = nullptr,
                                 double background_e = 0);

}  // namespace glint
