// The default size of a ROI, and the effect of other sizes on z.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/localize.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr int smallest_default = 7;
constexpr double same_pixel = 0.01;  // relative

/// The edge of the calibration's pixels in those of the movie.
double pixel_ratio(const AstigmaticCurve& curve, double pixel_size_nm) {
    const double ratio = curve.pixel_size_nm / pixel_size_nm;
    return curve.pixel_size_nm > 0 && std::abs(ratio - 1) > same_pixel ? ratio : 1;
}

/// The size of the window in which the widths were measured; with pixels of another size, the nearest odd one.
int calibrated_roi_size(const AstigmaticCurve& curve, double pixel_size_nm) {
    const double ratio = pixel_ratio(curve, pixel_size_nm);
    const double edge = std::min(curve.roi_size * ratio, double(max_roi_size));
    const int size = ratio == 1 ? curve.roi_size : 2 * int(std::lround((edge - 1) / 2)) + 1;
    return std::clamp(size, min_roi_size, max_roi_size);
}

}  // namespace

bool has_calibrated_window(const Psf& psf) { return describe(psf.model).calibrated && psf.curve.roi_size != 0; }

std::string calibration_warning(const Psf& psf, int roi_size, double pixel_size_nm) {
    if (!has_calibrated_window(psf)) return "";
    const AstigmaticCurve& curve = psf.curve;
    if (curve.roi_size < 0)
        return fmt::format(
            "the calibration does not say in which window its widths were measured, and where that was not one of {0} "
            "px "
            "as here, z may be compressed or stretched by a fifth: calibrate again, or write roi_px = {0} into it if "
            "it "
            "was, roi_px = 0 if the widths hold in any window",
            roi_size);
    const int wanted = calibrated_roi_size(curve, pixel_size_nm);
    if (roi_size != wanted)
        return fmt::format(
            "the window of {0} px is not the one of {1} px in which the calibration measured its widths: z may be "
            "compressed or stretched by a fifth. Use windows of {1} px, or calibrate with `calibration_roi_size={0}`",
            roi_size, wanted);
    if (pixel_ratio(curve, pixel_size_nm) != 1)
        return fmt::format(
            "the calibration was made with pixels of {:g} nm, the movie has {:g} nm: z holds only where that is due to "
            "the "
            "camera and not to other optics",
            curve.pixel_size_nm, pixel_size_nm);
    return "";
}

int default_roi_size(const Psf& psf, double pixel_size_nm) {
    if (has_calibrated_window(psf) && psf.curve.roi_size > 0) return calibrated_roi_size(psf.curve, pixel_size_nm);
    const double half = extent_nm(psf, PsfPart::most) / pixel_size_nm;
    const int size = 2 * int(std::ceil(std::min(half, 100.0))) + 1;
    return std::clamp(size, smallest_default, max_roi_size);
}

}  // namespace glint
