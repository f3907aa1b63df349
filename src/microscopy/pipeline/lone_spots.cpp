// Estimates PSF properties from a movie's lone spots: their residual images, and the width that fits them best.
// SPDX-License-Identifier: MIT
#include "pipeline/lone_spots.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>

#include "base/aligned.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "base/micrometres.hpp"
#include "fit/joint/joint_fit.hpp"
#include "fit/width_peak.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "pipeline/crowd_misfit.hpp"
#include "pipeline/found_spots.hpp"
#include "pipeline/groups.hpp"
#include "pipeline/lost_light.hpp"
#include "pipeline/p_single.hpp"
#include "pipeline/psf_misfit.hpp"
#include "pipeline/static_background.hpp"
#include "pipeline/unusable_pixels.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr std::int64_t max_scanned_frames = 64, max_scanned_pixels = std::int64_t(1) << 26;
constexpr std::size_t enough_lone_spots = 200, min_lone_spots = 20;
constexpr double max_misfit = 0.5;

/// If spots differ from each other by at least this share of a width, pairs and noise do not explain it.
constexpr double notable_scatter = 0.08;

/// Maximum misfit of the width that unresolved pairs in crowds may cause.
constexpr double max_pair_width = 0.12;

/// At higher densities, half of the lone spots are pairs, and more contain light of several molecules.
constexpr double max_density_per_px = 0.009;

/// How the model treats the width of a lone spot.
enum class WidthKind { given, free, other };
WidthKind kind_of(PsfModel model) {
    if (is_measured(model)) return WidthKind::other;
    const auto shape = shape_parameters_of(model);
    if (shape.empty()) return WidthKind::given;
    const auto is_width = [](const ShapeParameter& one) {
        return one.column == PsfColumn::width || one.column == PsfColumn::width_x || one.column == PsfColumn::width_y;
    };
    return std::all_of(shape.begin(), shape.end(), is_width) ? WidthKind::free : WidthKind::other;
}

/// A spot whose window shares no pixel with that of another comparably bright spot, and its fit.
struct LoneSpot {
    Emitter emitter;
    JointPixels pixels;           // around it, without pixels close to comparable spots, whose light is known
    std::vector<Emitter> others;  // comparable spots whose tails may reach into `pixels`
    JointPixels searched;         // its window and two pixels more; for models with free shapes
    std::size_t window;           // index in FoundSpots
};

/// Spots with a smaller share of a spot's photons may be parts of its image.
constexpr double min_comparable_share = 0.2;

/// Returns the brightest spot of a group if all other spots are so dim that they may be parts of its image.
std::optional<std::size_t> dominating_spot(std::span<const std::size_t> group, const Fits& fits) {
    const std::vector<float>& photons = fits.theta[2];
    const std::size_t brightest = *std::max_element(
        group.begin(), group.end(), [&](std::size_t a, std::size_t b) { return photons[a] < photons[b]; });
    if (fits.status[brightest] != FitStatus::converged) return {};
    for (const std::size_t k : group)
        if (k != brightest && !(photons[k] < min_comparable_share * photons[brightest])) return {};
    return brightest;
}

/// The density of spots around other spots, per px.
class LocalDensity {
  public:
    /// Counts the comparable spots around some of a frame's spots, in a ring beyond the spot and its misfit.
    void add(const std::vector<Emitter>& emitters, const Fits& fits) {
        constexpr double inner_px = 5, outer_px = 12;
        constexpr std::size_t looked_at = 64;
        const std::size_t step = std::max<std::size_t>(1, emitters.size() / looked_at);
        for (std::size_t k = 0; k < emitters.size(); k += step) {
            if (fits.status[k] != FitStatus::converged) continue;
            area_ += std::numbers::pi * (outer_px * outer_px - inner_px * inner_px);
            for (std::size_t other = 0; other < emitters.size(); ++other) {
                const auto &a = emitters[k].theta, &b = emitters[other].theta;
                const double square = (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
                spots_ +=
                    square > inner_px * inner_px && square < outer_px * outer_px && b[2] > min_comparable_share * a[2];
            }
        }
    }
    double per_px() const { return area_ > 0 ? spots_ / area_ : 0; }

  private:
    double spots_ = 0, area_ = 0;
};

/// Removes the pixels within three widths of an emitter.
void leave_out(const PsfInDouble& psf, const Emitter& emitter, JointPixels& pixels) {
    const PsfWidths w = psf.widths(emitter.theta.data() + 4);
    const double radius = 3 * std::max(w.x_px, w.y_px);
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            const double u = pixels.left + x - emitter.theta[0], v = pixels.top + y - emitter.theta[1];
            if (u * u + v * v > radius * radius) continue;
            const std::size_t p = pixels.at(pixels.left + x, pixels.top + y);
            pixels[JointPlane::data][p] = pixels[JointPlane::known][p] = 1;
            pixels[JointPlane::per_photon][p] = pixels[JointPlane::variance][p] = 0;
        }
}

/// Returns true if the emitter lies in these pixels or at most `beside_px` outside.
bool is_within(const Emitter& emitter, const Rectangle& pixels, double beside_px) {
    const double x = emitter.theta[0] - pixels.left, y = emitter.theta[1] - pixels.top;
    return x > -beside_px && x < pixels.width + beside_px && y > -beside_px && y < pixels.height + beside_px;
}

/// Returns the k-th frame to examine. Frames are spread over the movie from the first on.
std::int64_t frame_of(const FrameRange& range, std::int64_t k, std::int64_t frames) {
    // In the order of 37 k mod 64, the first frames are spread over the movie as well, in case they suffice.
    const std::int64_t place = frames == max_scanned_frames ? k * 37 % max_scanned_frames : k;
    return range.begin + place * (range.end - range.begin) / frames;
}

/// Returns the molecules of a frame as its spots were fitted.
std::vector<Emitter> emitters_of(const FoundSpots& found) {
    std::vector<Emitter> emitters(found.rois.count());
    for (std::size_t k = 0; k < emitters.size(); ++k) {
        for (int p = 0; p < parameter_count(found.fits.model); ++p)
            emitters[k].theta[std::size_t(p)] = double(found.fits.theta[std::size_t(p)][k]);
        emitters[k].theta[0] += found.rois.x_corner[k], emitters[k].theta[1] += found.rois.y_corner[k];
    }
    return emitters;
}

/// Returns the lone spots of some frames. `all` receives all spots of these frames.
std::vector<LoneSpot> find_lone(Movie& movie, const LocalizeJob& job, const PsfInDouble& psf, JointFitter& joint,
                                FoundSpots& all, LocalDensity& density) {
    std::vector<LoneSpot> lone;
    Detector detector(job.camera, detect_options(job));
    Fitter fitter;
    AlignedFloats photoelectrons(std::size_t(job.camera.width()) * std::size_t(job.camera.height()));
    const int around_px = std::min({misfit_edge_px, job.camera.width(), job.camera.height()});
    FrameBlock block;
    // A stop does not interrupt this, because a resumed run must estimate the same values. It therefore takes at most a
    // fraction of a second.
    const std::int64_t frame_pixels = std::int64_t(job.camera.width()) * job.camera.height();
    const std::int64_t frames =
        std::min({max_scanned_frames, std::max<std::int64_t>(max_scanned_pixels / frame_pixels, 4),
                  job.frames.end - job.frames.begin});
    for (std::int64_t n = 0; n < frames && lone.size() < enough_lone_spots; ++n) {
        const std::int64_t frame = frame_of(job.frames, n, frames);
        try {
            movie.read(frame, 1, block);
        } catch (const InputError&) {
            continue;
        }
        job.camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
        FoundSpots here(job);
        Spots spots;
        detector.find(photoelectrons, spots);
        here.cut(photoelectrons, job.camera, spots, std::uint32_t(frame));
        if (here.scores.empty()) continue;
        FitInfo unused;
        here.fits = fit_on_this_thread(job, fitter, here.rois, unused);
        leave_out_unusable(job, here);  // these spots then have no fit and are not lone
        const std::vector<Emitter> emitters = emitters_of(here);
        density.add(emitters, here.fits);
        std::vector<std::size_t> windows(here.rois.count());
        std::iota(windows.begin(), windows.end(), std::size_t(0));
        Rois around = make_rois(job.camera, around_px);
        cut_rois(photoelectrons, job.camera, spots, std::uint32_t(frame), around);
        for (const std::span<std::size_t> group : groups_of(here.rois, windows)) {
            const std::optional<std::size_t> k = dominating_spot(group, here.fits);
            if (!k) continue;
            JointPixels pixels = joint_pixels(around, {&*k, 1});
            std::vector<JointLight> light;
            std::vector<Emitter> others;
            for (std::size_t other = 0; other < emitters.size(); ++other) {
                if (other == *k || here.fits.status[other] != FitStatus::converged ||
                    emitters[other].theta[2] < min_comparable_share * emitters[*k].theta[2])
                    continue;
                if (is_within(emitters[other], pixels, misfit_edge_px / 2.0)) others.push_back(emitters[other]);
                if (!light_reaches(psf, emitters[other], pixels)) continue;
                append_light({&emitters[other], 1}, pixels, light);
                leave_out(psf, emitters[other], pixels);
            }
            joint.add_light(light, pixels);
            JointPixels searched;
            if (kind_of(job.options.psf.model) != WidthKind::given) {
                searched = joint_pixels(here.wide, {&*k, 1});
                search_in(here.rois, {&*k, 1}, searched);
                std::vector<JointLight> lights;
                for (std::size_t other = 0; other < emitters.size(); ++other)
                    if (other != *k && here.fits.status[other] == FitStatus::converged &&
                        light_reaches(psf, emitters[other], searched))
                        append_light({&emitters[other], 1}, searched, lights);
                joint.add_light(lights, searched);
            }
            lone.push_back(
                {emitters[*k], std::move(pixels), std::move(others), std::move(searched), all.rois.count() + *k});
        }
        all.append(here);
    }
    return lone;
}

/// Returns true if both are molecules, and not a molecule with the ring that a misfit leaves: separated, and both
/// bright.
bool are_pair(const Emitter& a, const Emitter& b, const PsfInDouble& psf) {
    constexpr double apart_widths = 2.3, min_part = 0.15;
    const auto width = [&](const Emitter& one) {
        const PsfWidths w = psf.widths(one.theta.data() + 4);
        return std::max(w.x_px, w.y_px);
    };
    const double r = std::hypot(a.theta[0] - b.theta[0], a.theta[1] - b.theta[1]);
    return r > apart_widths * std::max(width(a), width(b)) &&
           std::min(a.theta[2], b.theta[2]) > min_part * (a.theta[2] + b.theta[2]);
}

/// Returns the square of the misfit at which an additional molecule would just be rejected (theory.md, eq. 10.4). Empty
/// for a pair.
std::optional<double> squared_misfit(const LoneSpot& spot, JointFitter& fitter, JointFitter& finder,
                                     const PsfInDouble& psf, double min_gain) {
    JointFit alone;
    alone.emitters = {spot.emitter};
    alone.bg = spot.emitter.theta[3];
    fitter.find(spot.searched, alone);
    if (alone.emitters.size() != 1) return 0;
    JointFit two = alone;
    finder.find(spot.searched, two);
    const double gain = 2 * (alone.half_deviance - two.half_deviance) - min_gain;
    if (two.emitters.size() < 2 || !(gain > 0)) return 0;
    if (are_pair(two.emitters[0], two.emitters[1], psf)) return {};
    const auto &a = two.emitters[0].theta, &b = two.emitters[1].theta;
    const PsfWidths w = psf.widths(spot.emitter.theta.data() + 4);
    const double r = std::hypot(a[0] - b[0], a[1] - b[1]) / std::max(w.x_px, w.y_px);
    return gain / (4 * spot.emitter.theta[2] * std::exp(-r * r / 8));
}

/// Returns the misfit of a model with free widths or z, from the gain of an additional molecule in the brighter half of
/// lone spots. Uses the lower quartile, because no given width separates pairs from single molecules.
double misfit_by_gains(const LocalizeJob& job, const LoneSpots& bounds, const PsfInDouble& psf,
                       const std::vector<LoneSpot>& lone) {
    std::vector<double> photons, squares;
    for (const LoneSpot& spot : lone) photons.push_back(spot.emitter.theta[2]);
    const double bright = median(photons);
    LocalizeJob limited = job;
    limited.lone = bounds;
    JointOptions one = joint_options(limited);
    one.misfit = 0;
    JointOptions any_gain = one;
    one.max_emitters = 1;
    any_gain.min_gain = 0, any_gain.max_emitters = 2;
    any_gain.min_tilt_gain = std::numeric_limits<double>::infinity();  // only the first fit includes a possible tilt
    JointFitter fitter(job.options.psf, job.options.pixel_size_nm, one),
        finder(job.options.psf, job.options.pixel_size_nm, any_gain);
    for (const LoneSpot& spot : lone)
        if (spot.emitter.theta[2] >= bright)
            if (const auto square = squared_misfit(spot, fitter, finder, psf, one.min_gain)) squares.push_back(*square);
    return squares.empty() ? 0 : std::sqrt(4 * quantile_of(squares, 0.25));
}

/// The width of a lone spot and its error, px.
struct Width {
    double px, error_px;
};

/// Returns the width that fits each spot best; NaN if that fit did not converge.
std::vector<Width> free_widths(const LocalizeJob& job, const FoundSpots& found, const std::vector<LoneSpot>& lone) {
    Psf free = job.options.psf;
    free.model = PsfModel::GaussianXYNBS;
    Rois rois = make_rois(job.camera, found.rois.size);
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    for (const LoneSpot& spot : lone) {
        const auto cut = [&](const std::vector<float>& from, std::vector<float>& into) {
            const auto begin = from.begin() + std::ptrdiff_t(spot.window * area);
            if (!from.empty()) into.insert(into.end(), begin, begin + std::ptrdiff_t(area));
        };
        cut(found.rois.pixels, rois.pixels), cut(found.rois.variance, rois.variance), cut(found.rois.qe, rois.qe);
    }
    FitOptions options;
    options.backend = Backend::cpu, options.threads = 1;
    const Fits fits = fit(rois, free, job.options.pixel_size_nm, options);
    std::vector<Width> widths;
    for (std::size_t row = 0; row < fits.count(); ++row)
        widths.push_back({fits.status[row] == FitStatus::converged ? double(fits.theta[4][row])
                                                                   : std::numeric_limits<double>::quiet_NaN(),
                          double(fits.crlb[4][row])});
    return widths;
}

/// Returns the larger of each spot's two widths, for a model whose widths are free.
std::vector<Width> fitted_widths(const PsfInDouble& psf, const std::vector<LoneSpot>& lone, const Fits& fits) {
    std::vector<Width> widths;
    for (const LoneSpot& spot : lone) {
        const PsfWidths w = psf.widths(spot.emitter.theta.data() + 4);
        widths.push_back({std::max(w.x_px, w.y_px), double(fits.crlb[4][spot.window])});
    }
    return widths;
}

/// Sets the width of single molecules, and keeps only the spots with this width. Keeps none if frames are crowded and
/// the peak is too broad for single molecules. `pairs`: the expected share of pairs among lone spots.
void keep_singles(const LocalizeJob& job, const std::vector<Width>& widths, bool crowded, double pairs,
                  std::vector<LoneSpot>& lone, LoneSpots& to) {
    constexpr double max_errors = 4, almost_all = 0.98;
    std::vector<double> known, errors;
    for (const Width& width : widths)
        if (!std::isnan(width.px)) known.push_back(width.px), errors.push_back(width.error_px);
    if (known.size() < min_lone_spots) return;
    const WidthPeak peak = peak_of(known);
    if (crowded && peak.deviation() > max_errors * median(errors)) return lone.clear();
    std::vector<LoneSpot> singles;
    std::vector<double> of_singles, apart;
    for (std::size_t k = 0; k < lone.size(); ++k)
        if (peak.has(widths[k].px)) of_singles.push_back(widths[k].px), singles.push_back(std::move(lone[k]));
    lone = std::move(singles);
    const double middle = median(of_singles);
    for (const double width : of_singles) apart.push_back(std::abs(width - middle));
    const auto nm = [&](double px) { return px * um_of(job.options.pixel_size_nm) * 1000; };
    to.width_nm = nm(middle);
    if (kind_of(job.options.psf.model) == WidthKind::free) {
        // Lone spots may be beads, which are larger, so molecules may well be narrower.
        to.min_width_nm = nm(std::min(peak.middle() - peak.reach(), 0.75 * peak.middle()));
        to.max_width_nm = nm(peak.middle() + peak.reach());
        if (!crowded && has_wide_molecules(wider_share(known, errors, peak), pairs))
            to.max_width_nm = std::max(to.max_width_nm, nm(quantile_of(known, almost_all)));
    }
    // The error of a median, from the median absolute deviation (MAD). A Gaussian's standard deviation is 1.4826 MAD;
    // the median's error is larger by sqrt(pi / 2).
    to.width_error_nm = nm(1.2533 * 1.4826 * median(apart) / std::sqrt(double(of_singles.size())));
}

/// Returns the share of lone spots that do not fit the model; 0.05 are expected by chance.
double share_of_misfits(const std::vector<LoneSpot>& lone, const Fits& fits) {
    constexpr float good = 0.05f;
    double bad = 0;
    for (const LoneSpot& spot : lone) bad += fits.p_value[spot.window] < good;
    return bad / double(lone.size());
}
/// With at most `few_misfits`, nothing is measured. Above `max_misfit_share`, the PSF is the cause, since pairs are
/// rarer.
constexpr double few_misfits = 0.1, max_misfit_share = 0.5;

/// With z, misfit light may be mistaken for a second molecule at another depth.
std::vector<ShapeNumbers> other_shapes(const Psf& psf, const PsfInDouble& in_double) {
    constexpr int depths = 5;
    std::vector<ShapeNumbers> shapes;
    if (!describe(psf.model).has_z) return shapes;
    const auto [low_um, high_um] = in_double.z_range_um();
    for (int k = 0; k < depths; ++k)
        in_double.typical_shape(low_um + (high_um - low_um) * (k + 0.5) / depths, shapes.emplace_back().data());
    return shapes;
}

/// Measures all but dim spots. Spots out of focus lose photons in the fit, and must be included.
std::vector<SpotResidual> measure(const LocalizeJob& job, const PsfInDouble& psf, const std::vector<LoneSpot>& lone) {
    constexpr double min_dimmer_share = 0.4;  // of the upper quartile
    constexpr std::size_t enough = 120;
    std::vector<double> photons;
    for (const LoneSpot& spot : lone) photons.push_back(spot.emitter.theta[2]);
    const double bright = min_dimmer_share * quantile_of(photons, 0.75);
    const std::vector<ShapeNumbers> others = other_shapes(job.options.psf, psf);
    const int shape_numbers = parameter_count(job.options.psf.model) - 4;
    std::vector<const LoneSpot*> spots;
    for (const LoneSpot& spot : lone)
        if (!(spot.emitter.theta[2] < bright)) spots.push_back(&spot);
    std::vector<SpotResidual> residuals;
    for (std::size_t done = 0; done < spots.size() && residuals.size() < enough;) {
        std::vector<std::optional<SpotResidual>> measured(std::min(enough - residuals.size(), spots.size() - done));
        in_arena_of(job.threads, [&] {
            tbb::parallel_for(std::size_t(0), measured.size(), [&](std::size_t k) {
                const LoneSpot& spot = *spots[done + k];
                measured[k] = measure_residual(psf, shape_numbers, spot.pixels, spot.emitter, others);
            });
        });
        done += measured.size();
        for (auto& one : measured)
            if (one) residuals.push_back(*std::move(one));
    }
    return residuals;
}

/// Excludes two depths within a width of each other: they explain the light of most lenses, but seldom are two
/// molecules.
void refuse_depths(double width_px, LoneSpots& to) {
    constexpr float more_than_all = 2;  // share of the other molecule's photons, whichever is brighter
    for (std::size_t k = 0; k < to.satellites.size() && double(k) * double(satellite_step_px) <= width_px; ++k)
        to.satellites[k] = more_than_all;
}

bool is_empty(const std::array<float, satellite_steps>& shares) {
    return std::all_of(shares.begin(), shares.end(), [](float share) { return share == 0; });
}

double misfit_between_limits(double misfit) {
    return std::round(1000 * std::clamp(misfit, min_misfit, max_misfit)) / 1000;
}

LoneSpots learn(Movie& movie, const LocalizeJob& job, bool misfit_too) {
    LoneSpots to;
    to.psf_misfit = default_misfit;
    const PsfInDouble psf(job.options.psf, job.options.pixel_size_nm);
    FoundSpots all(job);
    JointFitter joint(job.options.psf, job.options.pixel_size_nm, {});
    LocalDensity density;
    std::vector<LoneSpot> lone = find_lone(movie, job, psf, joint, all, density);
    to.spots = int(all.rois.count()), to.found = int(lone.size());
    const WidthKind width = kind_of(job.options.psf.model);
    const bool crowded = is_crowded(to), dense = density.per_px() >= max_density_per_px;
    const auto use_crowd = [&] {
        if (width != WidthKind::given) return;
        const std::optional<CrowdMisfit> crowd = measure_crowd_misfit(movie, job, psf);
        if (!crowd) return;
        to.satellites = crowd->satellites;
        // Unresolved pairs widen molecules in dense places, and lone spots even more. They never narrow either.
        const bool is_of_pairs = crowd->width < max_pair_width;
        const bool lone_are_wider = to.width_nm > job.options.psf.sigma_nm;
        if (to.count > 0 && !(is_of_pairs && lone_are_wider)) return;
        to.crowd_molecules = crowd->molecules;
        to.psf_misfit = misfit_between_limits(is_of_pairs ? std::min(crowd->width, default_misfit) : crowd->width);
        to.width_nm = is_of_pairs ? 0 : crowd->relative_width * um_of(job.options.psf.sigma_nm) * 1000;
        to.width_error_nm = is_of_pairs ? 0 : crowd->relative_width_error * um_of(job.options.psf.sigma_nm) * 1000;
    };
    if (lone.size() < min_lone_spots) {
        if (misfit_too && crowded) use_crowd();
        return to;
    }
    if (!dense) {  // otherwise most light around a spot comes from other molecules
        LostLight light(psf);
        for (const LoneSpot& spot : lone) light.add(spot.pixels, spot.emitter, spot.others);
        const LostLight::Estimate lost = light.measure();
        to.lost_light = lost.share, to.lost_light_error = lost.error;
    }
    const double share = share_of_misfits(lone, all.fits);
    const bool misfits = share > max_misfit_share;
    std::vector<SpotResidual> residuals;
    // Most lone spots of crowded frames are several molecules, which are not a misfit of the PSF. A free shape hides
    // pairs.
    const bool pairs_are_told = width == WidthKind::given || !crowded || misfits;
    if (misfit_too && share > few_misfits && pairs_are_told && !dense) residuals = measure(job, psf, lone);
    const double pairs = share_of_pairs(density.per_px(), detect_options(job).filter.width_px);
    if (width == WidthKind::given) keep_singles(job, free_widths(job, all, lone), crowded, pairs, lone, to);
    if (width == WidthKind::free) keep_singles(job, fitted_widths(psf, lone, all.fits), crowded, pairs, lone, to);
    to.count = int(lone.size());
    if (!misfit_too) return to;
    if (lone.empty()) {
        use_crowd();
        return to;
    }
    const bool with_scatter = share > few_misfits + pairs;
    PsfMisfit misfit = misfit_of(residuals, width == WidthKind::given || misfits, with_scatter).value_or(PsfMisfit{});
    // Dim neighbours also leave light around spots. The search then finds no more molecules there than elsewhere.
    if (width == WidthKind::given && misfit.scatter < notable_scatter && !is_empty(misfit.satellites)) {
        const std::optional<CrowdMisfit> crowd = measure_crowd_misfit(movie, job, psf);
        if (crowd && crowd->knows_satellites && is_empty(crowd->satellites)) {
            misfit = misfit_of(residuals, false, false).value_or(PsfMisfit{});
            misfit.satellites = {};
        }
    }
    const double wider = width == WidthKind::given && to.width_nm > 0 ? to.width_nm / job.options.psf.sigma_nm - 1 : 0;
    const double gains = width == WidthKind::given ? 0 : misfit_by_gains(job, to, psf, lone);
    to.psf_misfit = misfit_between_limits(std::max({misfit.width, wider, gains}));
    to.scatter = misfit.scatter, to.satellites = misfit.satellites;
    if (dense && share > few_misfits) use_crowd();
    if (misfits && describe(job.options.psf.model).has_z) refuse_depths(detect_options(job).filter.width_px, to);
    return to;
}

/// Surveys the pixels in some frames, if the options request it.
PixelSurvey survey_of(Movie& movie, const LocalizeJob& job) {
    PixelSurvey pixels = survey_pixels(movie, job.frames, job.camera, detect_options(job).filter, job.threads);
    if (job.options.keep_defective) pixels.defective.clear(), pixels.patterned_share = 0;
    return pixels;
}

}  // namespace

LocalizeJob prepare_job(Movie& movie, const Camera& camera, const LocalizeOptions& options) {
    const WidthKind width = kind_of(options.psf.model);
    const bool learns_misfit = options.fit.emitters == any_emitters && options.fit.psf_misfit == learn_misfit;
    const bool learns = learns_misfit || width == WidthKind::given ||
                        (options.fit.emitters == any_emitters && width == WidthKind::free);
    LocalizeJob job = make_job(movie.info(), camera, options);
    // While a movie is still being written, the choice of frames would depend on its current end.
    if (job.frames.end == unknown_end) return job;
    const PixelSurvey pixels = survey_of(movie, job);
    LocalizeOptions with = options;
    with.warn = {};  // already warned above
    job = make_job(movie.info(), camera, with, pixels);
    job.options.warn = options.warn;
    const MeasuredBackground background = measure_background(movie, job);
    set_known_light(job, movie.info(), background.found, background.light_e);
    if (!learns) return job;
    LocalizeJob together = job;
    together.options.fit.emitters = any_emitters;  // uses wide windows
    LoneSpots lone = learn(movie, together, learns_misfit);
    // A movie that is still being written uses only what is known before its end, whoever gives the misfit.
    if (learns_misfit)
        lone.pair_excess = measure_pair_excess(movie, job);
    else
        lone.psf_misfit = job.lone.psf_misfit;
    with.fit.psf_misfit = lone.psf_misfit;
    job = make_job(movie.info(), camera, with, pixels);
    job.options.warn = options.warn;
    job.lone = lone;
    set_known_light(job, movie.info(), background.found, background.light_e);
    return job;
}

std::string disagreement_of(const LoneSpots& lone, const Psf& psf) {
    if (lone.scatter < notable_scatter) return "";
    const std::string cause =
        fmt::format("lone spots differ from each other in shape, by {:.0f} % of a width (rms, beyond noise and pairs)",
                    100 * lone.scatter);
    const char* consequence =
        "positions are good, but photons and p values of the worst fits are not, and molecules closer than two widths "
        "may count as one";
    if (kind_of(psf.model) != WidthKind::given)
        return fmt::format("{}, which {} does not describe: {}", cause, to_name(psf.model), consequence);
    // In crowded frames, free widths hide pairs.
    const char* remedy = is_crowded(lone)
                             ? "In crowded frames, a model with free widths is no better; use a bead stack, with "
                               "`calibration`"
                             : "Use a model with free widths (`glint inspect` shows which `psf`), or with a bead "
                               "stack, `calibration`";
    return fmt::format("{}, like molecules at different depths or of two kinds: {}. {}", cause, consequence, remedy);
}

std::string width_advice(const LoneSpots& lone, const Psf& psf) {
    constexpr double from = 0.05, errors = 4, fwhm = 2.355, near = 0.1;
    const double more = lone.width_nm / psf.sigma_nm - 1;
    if (kind_of(psf.model) != WidthKind::given || lone.width_nm <= 0 || std::abs(more) < from ||
        std::abs(lone.width_nm - psf.sigma_nm) < errors * lone.width_error_nm)
        return "";
    const std::string spots =
        lone.crowd_molecules > 0 && (lone.count == 0 || more > 0)
            ? fmt::format("molecules are about {:.0f} nm wide (standard deviation; from {} in crowded frames)",
                          lone.width_nm, lone.crowd_molecules)
            : fmt::format("lone spots are {:.0f} nm wide (standard deviation; median of the {} single molecules)",
                          lone.width_nm, lone.count);
    return fmt::format("{}, {:.0f} % {} than the {:.0f} nm used: `sigma={:.0f}nm` would fit them{}", spots,
                       100 * std::abs(more), more > 0 ? "more" : "less", psf.sigma_nm, lone.width_nm,
                       std::abs(psf.sigma_nm / lone.width_nm / fwhm - 1) < near
                           ? " (was the full width at half maximum given? It is 2.355 standard deviations)"
                           : "");
}

}  // namespace glint
