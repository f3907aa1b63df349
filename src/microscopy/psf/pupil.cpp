// Computes a PSF: checks the optics, chooses a window that contains the light, and makes the table of SplineXYZNB.
// SPDX-License-Identifier: MIT
#include "glint/pupil.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"
#include "psf/pupil_image.hpp"
#include "psf/spline_coefficients.hpp"

namespace glint {
namespace {

constexpr int min_pupil_window = 5, max_pupil_window = 201, max_chosen_window = 101;
constexpr int max_pupil_nodes = 700, max_pupil_planes = 990;
// Light in the window. A chosen window contains at least the first two; below the others the result is refused.
constexpr double chosen_max_light = 0.95, chosen_min_light = 0.9, required_max_light = 0.5, required_min_light = 0.2;
constexpr int end_points = 6;  // at each end of an axis, where the slopes of the spline are inaccurate

void require_optics(const char* what, double value, double low, double high, const char* remedy) {
    if (!(value >= low && value <= high))
        throw OptionError(
            fmt::format("{} of {:g} is outside the limits, {:g} to {:g}: {}", what, value, low, high, remedy));
}

void check_zernike(const std::vector<ZernikeTerm>& terms) {
    std::set<int> seen;
    for (const ZernikeTerm& term : terms) {
        if (term.noll < min_zernike_noll || term.noll > max_zernike_noll)
            throw OptionError(
                fmt::format("a Zernike polynomial of number {}: Noll's numbers {} to {} are used, as in "
                            "`zernike=coma_x=0.3`; 1 to 3 only shift the image or do nothing",
                            term.noll, min_zernike_noll, max_zernike_noll));
        if (!(std::abs(term.rad_rms) <= max_zernike_rad))
            throw OptionError(
                fmt::format("Zernike polynomial {} of {:g} rad rms: the limits are -{:g} to {:g}; give "
                            "radians, as in `zernike=coma_x=0.3`",
                            term.noll, term.rad_rms, max_zernike_rad, max_zernike_rad));
        if (!seen.insert(term.noll).second)
            throw OptionError(
                fmt::format("Zernike polynomial {} is given twice: give each `zernike` once, with the sum", term.noll));
    }
}

void check_pupil(const Pupil& pupil, const PupilGrid& grid) {
    require_optics("a wavelength in nm", pupil.wavelength_nm, 200, 2000, "give it as in `wavelength=670nm`");
    require_optics("an immersion index", pupil.immersion_index, 1, 2, "give it as in `immersion_index=1.518`");
    require_optics("a sample index", pupil.sample_index, 1, 2, "give it as in `sample_index=1.33`");
    require_optics("a depth in nm", pupil.depth_nm, 0, 1e5, "give it as in `depth=500nm`");
    require_optics("a numerical aperture", pupil.na, 0.05, 2, "give it as in `na=1.4`");
    const bool is_sample = pupil.sample_index < pupil.immersion_index;
    const double index = is_sample ? pupil.sample_index : pupil.immersion_index;
    if (pupil.na >= index)
        throw OptionError(fmt::format(
            "a numerical aperture of {:g} is not below the {} index, {:g}: {}; give at most `na={:.4g}`, or the index "
            "of the {}, as in `{}`",
            pupil.na, is_sample ? "sample" : "immersion", index,
            is_sample ? "light at larger angles is evanescent in the sample, which scalar diffraction does not describe"
                      : "no light has such angles",
            0.995 * index, is_sample ? "mounting medium" : "immersion medium",
            is_sample ? "sample_index=1.518" : "immersion_index=1.518"));
    check_zernike(pupil.zernike);
    const double lowest_nm = pupil.depth_nm + grid.z_min_nm;
    if (grid.moving == PupilZ::molecule && pupil.sample_index != pupil.immersion_index && lowest_nm < 0)
        throw OptionError(
            fmt::format("z from {:g} nm at a depth of {:g} nm is below the coverslip, where the sample index {:g} does "
                        "not apply: give at least `depth={:g}nm`, or a smaller `z_range`",
                        grid.z_min_nm, pupil.depth_nm, pupil.sample_index, -grid.z_min_nm));
}

void check_grid(const PupilGrid& grid) {
    check_pixel_size(grid.pixel_size_nm);
    if (!(grid.z_min_nm >= -1e5 && grid.z_max_nm <= 1e5 && grid.z_max_nm - grid.z_min_nm >= min_depth_nm))
        throw OptionError(
            fmt::format("a computed PSF from z = {:g} to {:g} nm: the limits are -100000 to 100000 nm, and a range of "
                        "at least {:g}: give another `z_range`",
                        grid.z_min_nm, grid.z_max_nm, min_depth_nm));
    if (grid.window_px != 0 &&
        (grid.window_px < min_pupil_window || grid.window_px > max_pupil_window || grid.window_px % 2 == 0))
        throw OptionError(fmt::format("a window of {} px for a computed PSF: give an odd number from {} to {}",
                                      grid.window_px, min_pupil_window, max_pupil_window));
    if (grid.samples_per_px != 1 && grid.samples_per_px != 2)
        throw OptionError(fmt::format("{} samples per pixel of a computed PSF: give 1 or 2", grid.samples_per_px));
    if (!(grid.knot_nm == 0 || grid.knot_nm >= 1))
        throw OptionError(
            fmt::format("a distance of coefficients along z of {:g} nm: give 1 or more, or 0 for a "
                        "suitable one",
                        grid.knot_nm));
    require_optics("a density of points in the pupil", grid.node_density, 0.5, 8, "1 suffices");
}

/// The coefficients' grid.
struct PupilTable {
    int window = 0, samples = 2;
    int planes = 0;  ///< from z_min to z_max
    double z_min_nm = 0, knot_nm = 0;

    // As calibrate_psf(): a margin of 1 px around the window, for molecules that are not in the middle of a pixel.
    int points() const { return samples * (window + 1) + 3; }
};

PupilTable choose_planes(const Pupil& pupil, const PupilGrid& grid) {
    const double index = grid.moving == PupilZ::stage ? pupil.immersion_index : pupil.sample_index;
    // The shortest period of the intensity along z, of the light along the axis and that at the edge of the pupil.
    const double period_nm = pupil.wavelength_nm / (index - std::sqrt(index * index - pupil.na * pupil.na));
    const double depth_nm = grid.z_max_nm - grid.z_min_nm;
    const double knot_nm = grid.knot_nm > 0 ? grid.knot_nm : period_nm / 16;
    const double intervals = std::max(4.0, std::ceil(depth_nm / knot_nm - 1e-9));
    if (intervals >= max_pupil_planes)
        throw OptionError(
            fmt::format("z from {:g} to {:g} nm in steps of {:.3g} nm needs {:.0f} planes, more than {}: "
                        "give a smaller `z_range`",
                        grid.z_min_nm, grid.z_max_nm, knot_nm, intervals + 1, max_pupil_planes));
    return {0, grid.samples_per_px, int(intervals) + 1, grid.z_min_nm, depth_nm / intervals};
}

/// Computes planes of a PSF.
class PsfPlanes {
  public:
    PsfPlanes(const Pupil& pupil, const PupilGrid& grid, const PupilTable& table)
        : phase_(pupil, grid.moving), grid_(grid) {
        // The phase is linear in z, so its gradient is largest at an end.
        const double margin = end_points * table.knot_nm;
        max_gradient_ =
            std::max(phase_.max_gradient(grid.z_min_nm - margin), phase_.max_gradient(grid.z_max_nm + margin));
    }

    /// Returns the part of the light in a window around a molecule in the middle of a pixel.
    double find_light(int window, double z_nm) const {
        const ImageCells cells{grid_.pixel_size_nm, window};
        check_nodes(cells);
        const std::vector<double> light = PupilImage(phase_, cells, max_gradient_, grid_.node_density).integrate(z_nm);
        return std::accumulate(light.begin(), light.end(), 0.0);
    }

    /// Returns the light of pixels around each point of a square grid, for each z. The middle point is the molecule.
    std::vector<double> sample(int points, const std::vector<double>& z_nm) const {
        const int samples = grid_.samples_per_px, cells = points + samples - 1;
        const ImageCells shape{grid_.pixel_size_nm / samples, cells};
        check_nodes(shape);
        const PupilImage image(phase_, shape, max_gradient_, grid_.node_density);
        const auto edge = std::size_t(points), plane = edge * edge;
        std::vector<double> all(plane * z_nm.size());
        in_own_arena([&] {
            tbb::parallel_for(std::size_t(0), z_nm.size(), [&](std::size_t k) {
                if (grid_.stop && *grid_.stop) return;
                const std::vector<double> light = image.integrate(z_nm[k]);
                for (std::size_t j = 0; j < edge; ++j)
                    for (std::size_t i = 0; i < edge; ++i)
                        for (std::size_t v = 0; v < std::size_t(samples); ++v)
                            for (std::size_t u = 0; u < std::size_t(samples); ++u)
                                all[k * plane + j * edge + i] += light[(j + v) * std::size_t(cells) + i + u];
            });
        });
        throw_if_stopped();
        return all;
    }

    void throw_if_stopped() const {
        if (grid_.stop && *grid_.stop) throw Cancelled("stopped: the PSF was not computed");
    }

  private:
    void check_nodes(const ImageCells& cells) const {
        if (PupilImage::count_nodes(phase_, cells, max_gradient_, 1) <= max_pupil_nodes) return;
        const double reach_um = max_gradient_ / phase_.per_nm() / 1000;
        throw OptionError(
            fmt::format("the PSF spreads over {:.3g} um at z from {:g} to {:g} nm, too much for any window: give "
                        "smaller `zernike` aberrations (the rms of a usable lens is below 2 rad), a smaller "
                        "`z_range` or `depth`, or `na` further below the indices",
                        2 * reach_um, grid_.z_min_nm, grid_.z_max_nm));
    }

    PupilPhase phase_;
    const PupilGrid& grid_;
    double max_gradient_;
};

constexpr const char* light_remedy =
    "give smaller `zernike` aberrations, a smaller `z_range`, a larger `pixel_size` or a larger window";

std::string describe_light(const ComputedPsf& psf) {
    return fmt::format(
        "the window of {} px contains {:.0f} % of the light at z = {:.0f} nm, and {:.0f} % at the "
        "brightest z",
        psf.window_px, 100 * psf.min_light, psf.darkest_z_nm, 100 * psf.max_light);
}

void add_plane_light(double light, double z_nm, ComputedPsf& psf) {
    psf.max_light = std::max(psf.max_light, light);
    if (light < psf.min_light) psf.min_light = light, psf.darkest_z_nm = z_nm;
}

void require_light(const ComputedPsf& psf) {
    if (psf.max_light < required_max_light || psf.min_light < required_min_light)
        throw OptionError(fmt::format("{}: fits with it would be wrong: {}", describe_light(psf), light_remedy));
}

/// Measures the light at both ends of z and in focus.
ComputedPsf probe_window(int window, const PupilGrid& grid, const PsfPlanes& planes) {
    ComputedPsf probed;
    probed.window_px = window, probed.min_light = 1;
    for (const double z_nm : {grid.z_min_nm, 0.5 * (grid.z_min_nm + grid.z_max_nm), grid.z_max_nm}) {
        planes.throw_if_stopped();
        add_plane_light(planes.find_light(window, z_nm), z_nm, probed);
    }
    return probed;
}

/// Returns the smallest window that contains enough light, or the largest one.
int choose_pupil_window(const Pupil& pupil, const PupilGrid& grid, const PsfPlanes& planes) {
    ComputedPsf probed;
    if (grid.window_px != 0) {
        probed = probe_window(grid.window_px, grid, planes);
    } else {
        const double airy_px = pupil.wavelength_nm / pupil.na / grid.pixel_size_nm;
        for (double half = std::clamp(3 * airy_px, 5.0, 50.0); probed.window_px < max_chosen_window; half *= 1.25) {
            probed = probe_window(std::min(2 * int(std::lround(half)) + 1, max_chosen_window), grid, planes);
            if (probed.max_light >= chosen_max_light && probed.min_light >= chosen_min_light) break;
        }
    }
    require_light(probed);
    return probed.window_px;
}

/// Finds the light in the window at each plane.
void measure_plane_light(const std::vector<double>& all, const PupilTable& table, std::size_t points,
                         ComputedPsf& psf) {
    const std::size_t skipped = (points - 1) / 2 - std::size_t(table.samples * (table.window - 1) / 2);
    const auto step = std::size_t(table.samples);
    psf.min_light = 1;
    for (int k = 0; k < table.planes; ++k) {
        double light = 0;
        const double* plane = &all[std::size_t(k + end_points) * points * points];
        for (std::size_t j = 0; j < std::size_t(table.window); ++j)
            for (std::size_t i = 0; i < std::size_t(table.window); ++i)
                light += plane[(skipped + j * step) * points + skipped + i * step];
        add_plane_light(light, table.z_min_nm + k * table.knot_nm, psf);
    }
    require_light(psf);
    if (psf.min_light < chosen_min_light)
        psf.warnings.push_back(fmt::format("{}: the rest is missing from the spots, and photons count it: {}",
                                           describe_light(psf), light_remedy));
}

}  // namespace

ComputedPsf compute_psf(const Pupil& pupil, const PupilGrid& grid) {
    check_grid(grid);
    check_pupil(pupil, grid);
    PupilTable table = choose_planes(pupil, grid);
    const PsfPlanes planes(pupil, grid, table);
    table.window = choose_pupil_window(pupil, grid, planes);
    const int coefficients = table.points() + 2;
    if (std::size_t(coefficients) * std::size_t(coefficients) * std::size_t(table.planes + 2) >
        PsfTable::max_bytes / sizeof(float))
        throw OptionError(
            fmt::format("a computed PSF of {} x {} x {} coefficients (z, y, x) is larger than {} MiB: "
                        "give a smaller `z_range`",
                        table.planes + 2, coefficients, coefficients, PsfTable::max_bytes >> 20));

    // Points beyond the ends of each axis are computed too, and their inaccurate coefficients are left out.
    const auto points = std::size_t(table.points() + 2 * end_points);
    std::vector<double> z_nm;
    for (int k = -end_points; k < table.planes + end_points; ++k) z_nm.push_back(table.z_min_nm + k * table.knot_nm);
    const std::vector<double> all = planes.sample(int(points), z_nm);
    ComputedPsf made;
    made.window_px = table.window;
    measure_plane_light(all, table, points, made);

    const SplineCoefficients spline = interpolate({z_nm.size(), points, points}, all);
    std::vector<float> values;
    for (int k = 0; k < table.planes + 2; ++k)
        for (int j = 0; j < coefficients; ++j)
            for (int i = 0; i < coefficients; ++i)
                values.push_back(float(
                    spline.at(std::size_t(k + end_points), std::size_t(j + end_points), std::size_t(i + end_points))));
    made.psf.model = PsfModel::SplineXYZNB;
    made.psf.table = std::make_shared<const PsfTable>(
        PsfTable::Shape{table.planes + 2, coefficients, coefficients, 1}, std::move(values),
        PsfTable::Scale{grid.pixel_size_nm, grid.z_min_nm, grid.z_max_nm, grid.samples_per_px});
    return made;
}

}  // namespace glint
