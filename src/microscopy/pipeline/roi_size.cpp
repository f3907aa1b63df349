// The default size of a ROI, and the effect of other sizes on z.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "psf/in_double.hpp"
#include "psf/table_extent.hpp"

namespace glint {
namespace {

constexpr int smallest_default = 7;
constexpr double same_pixel = 0.01;  // relative

/// Returns the ratio of the calibration's pixel size to the movie's.
double pixel_ratio(const AstigmaticCurve& curve, double pixel_size_nm) {
    const double ratio = curve.pixel_size_nm / pixel_size_nm;
    return curve.pixel_size_nm > 0 && std::abs(ratio - 1) > same_pixel ? ratio : 1;
}

/// Returns the size of the window in which the widths were measured; with pixels of another size, the nearest odd size.
int calibrated_roi_size(const AstigmaticCurve& curve, double pixel_size_nm) {
    const double ratio = pixel_ratio(curve, pixel_size_nm);
    const double edge = std::min(curve.roi_size * ratio, double(max_roi_size));
    const int size = ratio == 1 ? curve.roi_size : 2 * int(std::lround((edge - 1) / 2)) + 1;
    return std::clamp(size, min_roi_size, max_roi_size);
}

/// z is lost in windows with less light than the first share, and may be wrong with less than the second
/// (docs/how-to/measure-a-psf.md, limits).
constexpr double min_light_share = 0.25, doubtful_light_share = 0.5;

std::string light_of_window(const LightShare& share, int roi_size) {
    return fmt::format(
        "a window of {} px contains {:.0f} % of the light of the measured PSF, on average over z, and {:.0f} % at the "
        "worst z",
        roi_size, 100 * share.mean, 100 * share.min);
}

/// Returns a warning if a window contains too little light of a measured PSF. Throws OptionError if z is lost in it.
std::string small_window_warning(const Psf& psf, int roi_size, double pixel_size_nm) {
    if (covered_window_px(psf) == 0 || roi_size < 1) return "";
    const LightShare share = find_light_share(*psf.table, roi_size);
    if (share.mean >= doubtful_light_share) return "";
    const int wanted = default_roi_size(psf, pixel_size_nm);
    if (roi_size >= wanted)
        return fmt::format("{}, and is the largest that suits this PSF: z and photons may be wrong. Compare with beads",
                           light_of_window(share, roi_size));
    if (share.mean < min_light_share)
        throw OptionError(fmt::format("{}: at least {:.0f} % are needed. Give `roi_size={}`, the default",
                                      light_of_window(share, roi_size), 100 * min_light_share, wanted));
    return fmt::format("{}: {}. Give `roi_size={}`, the default", light_of_window(share, roi_size),
                       describe(psf.model).has_z ? "z may be wrong, since images at different z hardly differ there"
                                                 : "photons may be wrong",
                       wanted);
}

}  // namespace

std::string z_bound_warning(const Psf& psf, std::int64_t at_bound, std::int64_t rows) {
    constexpr double noticed_share = 0.05;
    constexpr std::int64_t noticed_rows = 10;
    if (!describe(psf.model).has_z || at_bound < noticed_rows || double(at_bound) < noticed_share * double(rows))
        return "";
    const ZRange range = psf.z_range();
    return fmt::format(
        "{} of {} rows ({:.0f} %) lie at an end of the PSF's z range ({:.0f} to {:.0f} nm): the molecules are there or "
        "beyond, and their z is no measurement. These rows have the status 2: leave them out (status == 0), and "
        "calibrate over a larger range of z",
        at_bound, rows, 100 * double(at_bound) / double(rows), range.min_nm, range.max_nm);
}

bool has_calibrated_window(const Psf& psf) { return describe(psf.model).calibrated && psf.curve.roi_size != 0; }

std::string calibration_warning(const Psf& psf, int roi_size, double pixel_size_nm) {
    if (!has_calibrated_window(psf)) return small_window_warning(psf, roi_size, pixel_size_nm);
    const AstigmaticCurve& curve = psf.curve;
    if (curve.roi_size < 0)
        return fmt::format(
            "the calibration does not record in which window its widths were measured. If it was not {0} px as here, "
            "z may be compressed or stretched by a fifth. Calibrate again; or write roi_px = {0} into the calibration "
            "if the window was {0} px, or roi_px = 0 if the widths hold in any window",
            roi_size);
    const int wanted = calibrated_roi_size(curve, pixel_size_nm);
    if (roi_size != wanted)
        return fmt::format(
            "the window of {0} px is not the one of {1} px in which the calibration measured its widths: z may be "
            "compressed or stretched by a fifth. Use windows of {1} px, or calibrate with `calibration_roi_size={0}`",
            roi_size, wanted);
    if (pixel_ratio(curve, pixel_size_nm) != 1)
        return fmt::format(
            "the calibration was made with pixels of {:g} nm, the movie has {:g} nm: z is correct only if this is due "
            "to the camera and not to other optics",
            curve.pixel_size_nm, pixel_size_nm);
    return "";
}

int default_roi_size(const Psf& psf, double pixel_size_nm) {
    if (has_calibrated_window(psf) && psf.curve.roi_size > 0) return calibrated_roi_size(psf.curve, pixel_size_nm);
    const int covered = covered_window_px(psf);
    const double half = covered > 0 ? find_half_window_px(*psf.table) : extent_nm(psf, PsfPart::most) / pixel_size_nm;
    const int size = 2 * int(std::ceil(std::min(half, 100.0))) + 1;
    // A molecule lies up to a pixel from the middle, and the table must reach the other side of the window.
    const int inside = covered - 2;
    const int largest =
        covered > 0 ? std::clamp(inside - 1 + inside % 2, smallest_default, max_roi_size) : max_roi_size;
    return std::clamp(size, smallest_default, largest);
}

}  // namespace glint
