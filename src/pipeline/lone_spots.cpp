// By how much lone spots differ from the model: what one more molecule would gain there, which has no right to be, and by how
// much the width that fits them best is more than the given one: that makes rings, in which many would be found.
// SPDX-License-Identifier: MIT
#include "pipeline/lone_spots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "base/aligned.hpp"
#include "base/median.hpp"
#include "fit/joint/joint_fit.hpp"
#include "fit/width_peak.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "pipeline/found_spots.hpp"
#include "pipeline/groups.hpp"
#include "pipeline/static_background.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr std::int64_t most_looked_at = 64, most_pixels_looked_at = std::int64_t(1) << 26;
constexpr std::size_t enough_lone_spots = 200, least_lone_spots = 20;
constexpr double least_misfit = 0.02, most_misfit = 0.5;  // no lens makes a Gaussian to better than that

double quantile(std::vector<double> values, double part) {
    const auto at = values.begin() + std::ptrdiff_t(part * double(values.size()));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// What a model says of a lone spot's width.
enum class WidthKind { given, free, other };
WidthKind kind_of(PsfModel model) {
    const auto shape = shape_parameters_of(model);
    if (shape.empty()) return WidthKind::given;
    const auto is_width = [](const ShapeParameter& one) {
        return one.column == PsfColumn::width || one.column == PsfColumn::width_x || one.column == PsfColumn::width_y;
    };
    return std::all_of(shape.begin(), shape.end(), is_width) ? WidthKind::free : WidthKind::other;
}

/// A spot whose window shares no pixel with another's, and its fit.
struct LoneSpot {
    Emitter emitter;
    JointPixels pixels;  // of the wide window; the light of the frame's other spots is known
    std::size_t window;  // of FoundSpots
};

/// The k-th frame to look at: spread over the movie from the first on.
std::int64_t frame_of(const FrameRange& range, std::int64_t k, std::int64_t frames) {
    // In the order of k 37 mod 64 the first ones are spread, too, where the first ones suffice.
    const std::int64_t place = frames == most_looked_at ? k * 37 % most_looked_at : k;
    return range.begin + place * (range.end - range.begin) / frames;
}

/// The molecules of a frame as its spots were fitted.
std::vector<Emitter> emitters_of(const FoundSpots& found) {
    std::vector<Emitter> emitters(found.rois.count());
    for (std::size_t k = 0; k < emitters.size(); ++k) {
        for (int p = 0; p < parameter_count(found.fits.model); ++p)
            emitters[k].theta[std::size_t(p)] = double(found.fits.theta[std::size_t(p)][k]);
        emitters[k].theta[0] += found.rois.x_corner[k], emitters[k].theta[1] += found.rois.y_corner[k];
    }
    return emitters;
}

/// The lone spots of some frames; `all` gets all spots of these.
std::vector<LoneSpot> find_lone(Movie& movie, const Job& job, const PsfInDouble& psf, JointFitter& joint,
                                FoundSpots& all) {
    std::vector<LoneSpot> lone;
    Detector detector(job.camera, detect_options(job));
    Fitter fitter;
    AlignedFloats photoelectrons(std::size_t(job.camera.width()) * std::size_t(job.camera.height()));
    FrameBlock block;
    // A stop does not end it, since the run that goes on must learn the same: hence no more than a fraction of a second.
    const std::int64_t frame_pixels = std::int64_t(job.camera.width()) * job.camera.height();
    const std::int64_t frames =
        std::min({most_looked_at, std::max<std::int64_t>(most_pixels_looked_at / frame_pixels, 4),
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
        const std::vector<Emitter> emitters = emitters_of(here);
        std::vector<std::size_t> windows(here.rois.count());
        std::iota(windows.begin(), windows.end(), std::size_t(0));
        for (const std::span<std::size_t> group : groups_of(here.rois, windows)) {
            const std::size_t k = group.front();
            if (group.size() > 1 || here.fits.status[k] != FitStatus::converged) continue;
            JointPixels pixels = joint_pixels(here.wide, group);
            search_in(here.rois, group, pixels);
            std::vector<JointLight> around;
            for (std::size_t other = 0; other < emitters.size(); ++other)
                if (other != k && here.fits.status[other] == FitStatus::converged &&
                    light_reaches(psf, emitters[other], pixels))
                    append_light({&emitters[other], 1}, pixels, around);
            joint.add_light(around, pixels);
            lone.push_back({emitters[k], std::move(pixels), all.rois.count() + k});
        }
        all.append(here);
    }
    return lone;
}

/// Whether these are two molecules, and not one with the ring that a misfit leaves: apart, and both bright.
bool are_pair(const Emitter& a, const Emitter& b, const PsfInDouble& psf) {
    constexpr double apart_widths = 2.3, least_part = 0.15;
    const auto width = [&](const Emitter& one) {
        const PsfWidths w = psf.widths(one.theta.data() + 4);
        return std::max(w.x_px, w.y_px);
    };
    const double r = std::hypot(a.theta[0] - b.theta[0], a.theta[1] - b.theta[1]);
    return r > apart_widths * std::max(width(a), width(b)) &&
           std::min(a.theta[2], b.theta[2]) > least_part * (a.theta[2] + b.theta[2]);
}

/// The misfit at which one more molecule would just not be believed, squared (docs/theory.md, eq. 10.4). Nothing for a pair,
/// where no given width has left these out.
std::optional<double> squared_misfit(const LoneSpot& spot, JointFitter& fitter, JointFitter& finder,
                                     const PsfInDouble& psf, double least_gain, bool psf_has_given_width) {
    JointFit alone;
    alone.emitters = {spot.emitter};
    alone.bg = spot.emitter.theta[3];
    fitter.find(spot.pixels, alone);
    if (alone.emitters.size() != 1) return 0;
    JointFit two = alone;
    finder.find(spot.pixels, two);
    const double gain = 2 * (alone.half_deviance - two.half_deviance) - least_gain;
    if (two.emitters.size() < 2 || !(gain > 0)) return 0;
    if (!psf_has_given_width && are_pair(two.emitters[0], two.emitters[1], psf)) return {};
    const auto &a = two.emitters[0].theta, &b = two.emitters[1].theta;
    const PsfWidths w = psf.widths(spot.emitter.theta.data() + 4);
    const double r = std::hypot(a[0] - b[0], a[1] - b[1]) / std::max(w.x_px, w.y_px);
    return gain / (4 * spot.emitter.theta[2] * std::exp(-r * r / 8));
}

/// A lone spot's, px.
struct Width {
    double px, error_px;
};

/// The width that fits each spot best; NaN where that fit did not converge.
std::vector<Width> free_widths(const Job& job, const FoundSpots& found, const std::vector<LoneSpot>& lone) {
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
    const Fits fits = fit(rois, free, job.pixel_size_um, options);
    std::vector<Width> widths;
    for (std::size_t row = 0; row < fits.count(); ++row)
        widths.push_back({fits.status[row] == FitStatus::converged ? double(fits.theta[4][row])
                                                                   : std::numeric_limits<double>::quiet_NaN(),
                          double(fits.crlb[4][row])});
    return widths;
}

/// The greater of a spot's widths, of a model whose widths are free.
std::vector<Width> fitted_widths(const PsfInDouble& psf, const std::vector<LoneSpot>& lone, const Fits& fits) {
    std::vector<Width> widths;
    for (const LoneSpot& spot : lone) {
        const PsfWidths w = psf.widths(spot.emitter.theta.data() + 4);
        widths.push_back({std::max(w.x_px, w.y_px), double(fits.crlb[4][spot.window])});
    }
    return widths;
}

/// Sets the width of single molecules, and leaves only the spots that have it: none where frames are crowded and the peak is
/// so broad that it is not that of single molecules.
void keep_singles(const Job& job, const std::vector<Width>& widths, bool crowded, std::vector<LoneSpot>& lone,
                  LoneSpots& to) {
    constexpr double most_errors = 4;
    std::vector<double> known, errors;
    for (const Width& width : widths)
        if (!std::isnan(width.px)) known.push_back(width.px), errors.push_back(width.error_px);
    if (known.size() < least_lone_spots) return;
    const WidthPeak peak = peak_of(known);
    if (crowded && peak.deviation() > most_errors * median(errors)) return lone.clear();
    std::vector<LoneSpot> singles;
    std::vector<double> of_singles, apart;
    for (std::size_t k = 0; k < lone.size(); ++k)
        if (peak.has(widths[k].px)) of_singles.push_back(widths[k].px), singles.push_back(std::move(lone[k]));
    lone = std::move(singles);
    const double middle = median(of_singles);
    for (const double width : of_singles) apart.push_back(std::abs(width - middle));
    to.width_um = middle * job.pixel_size_um;
    if (kind_of(job.options.psf.model) == WidthKind::free) {
        // The lone ones may be beads, which are larger: so molecules may well be narrower.
        to.least_width_um = std::min(peak.middle() - peak.reach(), 0.75 * peak.middle()) * job.pixel_size_um;
        to.most_width_um = (peak.middle() + peak.reach()) * job.pixel_size_um;
    }
    // Of a median, by the median absolute deviation: 1.4826 MAD is a Gaussian's standard deviation, sqrt(pi / 2) the
    // median's price.
    to.width_error_um = 1.2533 * 1.4826 * median(apart) / std::sqrt(double(of_singles.size())) * job.pixel_size_um;
}

LoneSpots learn(Movie& movie, const Job& job, bool misfit_too) {
    LoneSpots to;
    to.psf_misfit = usual_misfit;
    const PsfInDouble psf(job.options.psf, job.pixel_size_um);
    FoundSpots all(job);
    JointFitter joint(job.options.psf, job.pixel_size_um, {});
    std::vector<LoneSpot> lone = find_lone(movie, job, psf, joint, all);
    to.spots = int(all.rois.count()), to.found = int(lone.size());
    if (lone.size() < least_lone_spots) return to;
    const WidthKind width = kind_of(job.options.psf.model);
    const bool crowded = is_crowded(to);
    if (width == WidthKind::given) keep_singles(job, free_widths(job, all, lone), crowded, lone, to);
    if (width == WidthKind::free) keep_singles(job, fitted_widths(psf, lone, all.fits), crowded, lone, to);
    if (lone.empty()) return to;
    if (!misfit_too) {
        to.count = int(lone.size());
        return to;
    }
    std::vector<double> photons;
    for (const LoneSpot& spot : lone) photons.push_back(spot.emitter.theta[2]);
    const double bright = median(photons);
    Job limited = job;
    limited.lone = to;
    JointOptions usual = joint_options(limited);
    usual.misfit = 0;
    JointOptions one = usual, any_gain = usual;
    one.most_emitters = 1;
    any_gain.least_gain = 0, any_gain.most_emitters = 2;
    any_gain.least_tilt_gain = std::numeric_limits<double>::infinity();  // the first fit has it, where there is one
    JointFitter fitter(job.options.psf, job.pixel_size_um, one);
    JointFitter finder(job.options.psf, job.pixel_size_um, any_gain);
    std::vector<double> squares;
    for (const LoneSpot& spot : lone)
        if (spot.emitter.theta[2] >= bright)
            if (const auto square =
                    squared_misfit(spot, fitter, finder, psf, usual.least_gain, width == WidthKind::given))
                squares.push_back(*square);
    if (squares.empty()) return to;
    to.count = int(lone.size());
    // Half of the spots gain more than the median, and a gain scatters: hence twice the square. Where frames are crowded, or no
    // given width tells the pairs among them, a lower quantile is not theirs: a misfit is that of all.
    const double square = width != WidthKind::given ? 4 * quantile(squares, 0.25)
                          : crowded                 ? 3 * quantile(squares, 0.1)
                                                    : 2 * median(squares);
    const double wider = width == WidthKind::given && to.width_um > 0 ? to.width_um / job.options.psf.sigma_um - 1 : 0;
    const double misfit = std::clamp(std::max(std::sqrt(square), wider), least_misfit, most_misfit);
    to.psf_misfit = std::round(1000 * misfit) / 1000;
    return to;
}

}  // namespace

Job prepare_job(Movie& movie, const Camera& camera, const LocalizeOptions& options) {
    const WidthKind width = kind_of(options.psf.model);
    const bool learns_misfit = options.emitters == any_emitters && options.psf_misfit == learn_misfit;
    const bool learns =
        learns_misfit || width == WidthKind::given || (options.emitters == any_emitters && width == WidthKind::free);
    Job job = make_job(movie.info(), camera, options);
    // The end of a movie that is still being written would say which frames are looked at.
    if (job.frames.end == unknown_end) return job;
    const MeasuredBackground background = measure_background(movie, job);
    set_known_light(job, movie.info(), background.found, background.light_e);
    if (!learns) return job;
    Job together = job;
    together.options.emitters = any_emitters;  // whose windows are wide
    LoneSpots lone = learn(movie, together, learns_misfit);
    if (!learns_misfit) lone.psf_misfit = job.lone.psf_misfit;
    LocalizeOptions with = options;
    with.psf_misfit = lone.psf_misfit, with.warn = {};  // it has warned
    job = make_job(movie.info(), camera, with);
    job.options.warn = options.warn;
    job.lone = lone;
    set_known_light(job, movie.info(), background.found, background.light_e);
    return job;
}

std::string width_advice(const LoneSpots& lone, const Psf& psf, double from) {
    constexpr double errors = 4, fwhm = 2.355, near = 0.1;
    const double more = lone.width_um / psf.sigma_um - 1;
    if (kind_of(psf.model) != WidthKind::given || lone.width_um <= 0 || std::abs(more) < from ||
        std::abs(lone.width_um - psf.sigma_um) < errors * lone.width_error_um)
        return "";
    return fmt::format(
        "lone spots are {:.0f} nm wide (standard deviation; median of the {} single molecules), {:.0f} % {} than the "
        "{:.0f} nm used: "
        "--sigma {:.0f}nm would suit them{}",
        lone.width_um * 1000, lone.count, 100 * std::abs(more), more > 0 ? "more" : "less", psf.sigma_um * 1000,
        lone.width_um * 1000,
        std::abs(psf.sigma_um / lone.width_um / fwhm - 1) < near
            ? " (was the full width at half maximum given? It is 2.355 standard deviations)"
            : "");
}

}  // namespace glint
