// Images of a pupil at the points of a table, and the Levenberg-Marquardt fit of the pupil to the table.
// SPDX-License-Identifier: MIT
#include "analysis/lens/lens_optics.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/lens/solve_dense.hpp"
#include "base/arena.hpp"
#include "glint/error.hpp"
#include "psf/pupil_image.hpp"
#include "psf/spline_coefficients.hpp"

namespace glint::lens {
namespace {

constexpr int first_fitted_noll = 5, last_fitted_noll = 22, spherical_noll = 11, astigmatism_noll = 6;
constexpr std::size_t max_fitted_planes = 16;
constexpr int max_optics_steps = 25;
constexpr double min_optics_gain = 1e-3;  // of the sum of squares, a step
constexpr double exact_optics = 1e-6;     // of the weighted sum of h squared
constexpr double max_fitted_rad = 3;      // more would be no image
constexpr double good_description = 0.15, no_description = 0.8;
constexpr double weight_floor = 0.02;  // of the peak
constexpr double start_astigmatism_rad = 0.8;

void add_term(int noll, double rad_rms, std::vector<ZernikeTerm>& terms) {
    for (ZernikeTerm& term : terms)
        if (term.noll == noll) return void(term.rad_rms += rad_rms);
    terms.push_back({noll, rad_rms});
}

/// The pupil of one plane. A place in the image is a phase that rises along the pupil.
Pupil pupil_of_plane(const LensOptics& optics, double z_nm) {
    Pupil pupil = optics.pupil;
    const double per_nm = 2 * std::acos(-1.0) * pupil.na / pupil.wavelength_nm;
    add_term(2, -0.5 * per_nm * (optics.x_nm + optics.x_tilt * z_nm), pupil.zernike);
    add_term(3, -0.5 * per_nm * (optics.y_nm + optics.y_tilt * z_nm), pupil.zernike);
    add_term(spherical_noll, optics.spherical_rad_per_nm * z_nm, pupil.zernike);
    return pupil;
}

/// Convolves along x, then y, with three points of the variance of a Gaussian. Borders stay.
void blur_plane(double share, std::size_t edge, double* plane) {
    for (const auto& [step, line] : {std::pair{std::size_t(1), edge}, std::pair{edge, std::size_t(1)}})
        for (std::size_t k = 0; k < edge; ++k) {
            double* at = plane + k * line;
            double before = at[0];
            for (std::size_t i = 1; i + 1 < edge; ++i) {
                const double here = at[i * step];
                at[i * step] += share * (before + at[(i + 1) * step] - 2 * here);
                before = here;
            }
        }
}

void subtract_border(std::size_t edge, double* plane) {
    double sum = 0;
    for (std::size_t i = 0; i < edge; ++i) sum += plane[i] + plane[(edge - 1) * edge + i];
    for (std::size_t j = 1; j + 1 < edge; ++j) sum += plane[j * edge] + plane[j * edge + edge - 1];
    const double mean = sum / (4 * double(edge) - 4);
    for (std::size_t p = 0; p < edge * edge; ++p) plane[p] -= mean;
}

}  // namespace

std::vector<double> draw_volume(const LensOptics& optics, const VolumeGrid& grid, const StopFlag* stop) {
    const auto samples = std::size_t(grid.samples), edge = std::size_t(grid.points), cells = edge + samples - 1;
    const ImageCells shape{grid.pixel_size_nm / grid.samples, int(cells)};
    const auto pupil_z = [&](double z_nm) { return optics.focus_nm + optics.z_factor * z_nm; };
    // The gradient is largest at an end, since the phase is linear in z.
    double gradient = 0;
    for (const double z_nm : {grid.z_nm.front(), grid.z_nm.back()})
        gradient =
            std::max(gradient, PupilPhase(pupil_of_plane(optics, z_nm), optics.moving).max_gradient(pupil_z(z_nm)));
    const double spacing_nm = grid.pixel_size_nm / grid.samples;
    const double share = 0.5 * optics.blur_nm * optics.blur_nm / (spacing_nm * spacing_nm);
    std::vector<double> all(grid.plane() * grid.z_nm.size());
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), grid.z_nm.size(), [&](std::size_t k) {
            if (stop && *stop) return;
            const PupilPhase phase(pupil_of_plane(optics, grid.z_nm[k]), optics.moving);
            const std::vector<double> light = PupilImage(phase, shape, gradient, 1).integrate(pupil_z(grid.z_nm[k]));
            double* plane = &all[k * grid.plane()];
            for (std::size_t j = 0; j < edge; ++j)
                for (std::size_t i = 0; i < edge; ++i)
                    for (std::size_t v = 0; v < samples; ++v)
                        for (std::size_t u = 0; u < samples; ++u)
                            plane[j * edge + i] += optics.light * light[(j + v) * cells + i + u];
            blur_plane(std::min(share, 0.25), edge, plane);
            subtract_border(edge, plane);
        });
    });
    if (stop && *stop) throw Cancelled("stopped: the PSF was not computed");
    return all;
}

namespace {

/// Pixels of a table around a molecule in the middle of one.
struct TablePixels {
    VolumeGrid grid;
    std::vector<double> h, weights;
};

TablePixels take_pixels(const PsfTable& table) {
    const auto& [nz, ny, nx, one] = table.shape();
    const PsfTable::Scale& scale = table.scale();
    SplineCoefficients spline{{std::size_t(nz), std::size_t(ny), std::size_t(nx)},
                              {table.values().begin(), table.values().end()}};
    TablePixels to;
    const int half = (std::min(nx, ny) - 3) / 2 / scale.samples_per_px - 1;
    to.grid.pixel_size_nm = scale.pixel_size_nm, to.grid.points = 2 * half + 1;
    const std::size_t planes = std::size_t(nz) - 2, stride = (planes + max_fitted_planes - 1) / max_fitted_planes;
    const double knot_nm = (scale.z_max_nm - scale.z_min_nm) / double(planes - 1);
    for (std::size_t k = 0; k < planes; k += stride) {
        to.grid.z_nm.push_back(scale.z_min_nm + double(k) * knot_nm);
        for (int j = -half; j <= half; ++j)
            for (int i = -half; i <= half; ++i) {
                // A table with an even edge has no coefficient in its middle.
                const auto cell_of = [&](int edge, int px) {
                    const double at = 0.5 * (edge - 1) + scale.samples_per_px * px - 1;
                    return std::pair{std::size_t(at), at - std::floor(at)};
                };
                const auto [y, down] = cell_of(ny, j);
                const auto [x, along] = cell_of(nx, i);
                const bool is_last = k + 1 == planes;
                to.h.push_back(spline.value({is_last ? k - 1 : k, y, x}, {is_last ? 1.0 : 0.0, down, along}));
            }
        subtract_border(std::size_t(to.grid.points), &to.h[to.h.size() - to.grid.plane()]);
    }
    // As for photons: the variance is proportional to h, with a background.
    const double floor = weight_floor * *std::max_element(to.h.begin(), to.h.end());
    for (const double h : to.h) to.weights.push_back(1 / (std::max(h, 0.0) + floor));
    return to;
}

/// The fitted numbers of optics as a vector.
class OpticsParameters {
  public:
    static std::size_t count() { return std::size(numbers) + last_fitted_noll - first_fitted_noll + 1; }
    static double step(std::size_t k) { return k < std::size(numbers) ? numbers[k].step : 0.02; }
    static void add(std::size_t k, double change, LensOptics& optics) {
        if (k < std::size(numbers))
            optics.*numbers[k].of += change;
        else
            add_term(first_fitted_noll + int(k - std::size(numbers)), change, optics.pupil.zernike);
    }

  private:
    struct Number {
        double LensOptics::*of;
        double step;
    };
    static constexpr Number numbers[] = {{&LensOptics::z_factor, 0.01}, {&LensOptics::focus_nm, 10},
                                         {&LensOptics::x_nm, 5},        {&LensOptics::y_nm, 5},
                                         {&LensOptics::x_tilt, 0.01},   {&LensOptics::y_tilt, 0.01},
                                         {&LensOptics::light, 0.02},    {&LensOptics::blur_nm, 5}};
};

double weigh_difference(const TablePixels& pixels, const std::vector<double>& model) {
    double sum = 0;
    for (std::size_t p = 0; p < model.size(); ++p)
        sum += pixels.weights[p] * (pixels.h[p] - model[p]) * (pixels.h[p] - model[p]);
    return sum;
}

bool is_plausible(const LensOptics& optics) {
    const auto& terms = optics.pupil.zernike;
    return std::abs(std::log(std::max(optics.z_factor, 1e-3))) < std::log(4) &&
           std::all_of(terms.begin(), terms.end(),
                       [](const ZernikeTerm& term) { return std::abs(term.rad_rms) < max_fitted_rad; });
}

/// Improves `optics`, and returns the weighted sum of squares.
double improve_optics(const TablePixels& pixels, LensOptics& optics, const StopFlag* stop) {
    const std::size_t n = OpticsParameters::count();
    std::vector<double> model = draw_volume(optics, pixels.grid, stop);
    const double all = weigh_difference(pixels, std::vector<double>(model.size()));
    double squares = weigh_difference(pixels, model), damping = 1e-2;
    for (int step = 0; step < max_optics_steps; ++step) {
        std::vector<std::vector<double>> slopes;
        for (std::size_t k = 0; k < n; ++k) {
            LensOptics changed = optics;
            OpticsParameters::add(k, OpticsParameters::step(k), changed);
            slopes.push_back(draw_volume(changed, pixels.grid, stop));
            for (std::size_t p = 0; p < model.size(); ++p)
                slopes[k][p] = (slopes[k][p] - model[p]) / OpticsParameters::step(k);
        }
        DenseMatrix normal(n);
        std::vector<double> right(n);
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t l = 0; l <= k; ++l) {
                double sum = 0;
                for (std::size_t p = 0; p < model.size(); ++p) sum += pixels.weights[p] * slopes[k][p] * slopes[l][p];
                normal.at(k, l) = normal.at(l, k) = sum;
            }
            for (std::size_t p = 0; p < model.size(); ++p)
                right[k] += pixels.weights[p] * slopes[k][p] * (pixels.h[p] - model[p]);
        }
        double gain = 0;
        for (; damping < 1e6; damping *= 4) {
            DenseMatrix damped = normal;
            for (std::size_t k = 0; k < n; ++k) damped.at(k, k) *= 1 + damping;
            const std::vector<double> change = solve_dense(std::move(damped), right);
            if (change.empty()) continue;
            LensOptics tried = optics;
            for (std::size_t k = 0; k < n; ++k) OpticsParameters::add(k, change[k], tried);
            tried.blur_nm = std::max(tried.blur_nm, 0.0);
            if (!is_plausible(tried)) continue;
            std::vector<double> drawn = draw_volume(tried, pixels.grid, stop);
            const double now = weigh_difference(pixels, drawn);
            if (!(now < squares)) continue;
            gain = (squares - now) / squares;
            squares = now, optics = tried, model = std::move(drawn), damping /= 10;
            break;
        }
        if (gain < min_optics_gain || squares < exact_optics * all) break;
    }
    return squares;
}

double measure_unexplained(const TablePixels& pixels, const LensOptics& optics, const StopFlag* stop) {
    const std::vector<double> model = draw_volume(optics, pixels.grid, stop);
    double difference = 0, all = 0;
    for (std::size_t p = 0; p < model.size(); ++p)
        difference += std::abs(pixels.h[p] - model[p]), all += std::abs(pixels.h[p]);
    return difference / all;
}

}  // namespace

FoundOptics find_optics(const PsfTable& table, const Pupil& pupil, const StopFlag* stop) {
    const TablePixels pixels = take_pixels(table);
    FoundOptics best;
    double smallest = 0;
    // The sum of squares has several minima: others are tried if the first does not describe the PSF.
    for (const double astigmatism : {0.0, start_astigmatism_rad, -start_astigmatism_rad}) {
        FoundOptics found;
        found.optics.pupil = {pupil.na, pupil.wavelength_nm, pupil.immersion_index, pupil.immersion_index, 0, {}};
        found.optics.blur_nm = 0.2 * table.scale().pixel_size_nm;
        add_term(astigmatism_noll, astigmatism, found.optics.pupil.zernike);
        const double squares = improve_optics(pixels, found.optics, stop);
        if (astigmatism == 0 || squares < smallest) {
            smallest = squares, best = found;
            best.unexplained = measure_unexplained(pixels, best.optics, stop);
        }
        if (best.unexplained < good_description || best.unexplained > no_description) break;
    }
    return best;
}

}  // namespace glint::lens
