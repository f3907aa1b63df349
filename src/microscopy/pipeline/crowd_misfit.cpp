// Fits a few frames jointly and measures the residuals of the dimmer molecules, since bright ones are more often
// several molecules.
// SPDX-License-Identifier: MIT
#include "pipeline/crowd_misfit.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "fit/joint/joint_fit.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "pipeline/found_spots.hpp"
#include "pipeline/groups.hpp"
#include "pipeline/spot_grid.hpp"
#include "pipeline/unusable_pixels.hpp"

namespace glint {
namespace {

constexpr std::int64_t max_crowd_frames = 32;
/// Number of spots in a strip of rows in the frame's middle. Only molecules in the strip are examined.
constexpr std::size_t strip_spots = 300;
constexpr std::size_t enough_residuals = 120, min_residuals = 40;

/// Molecules with a smaller share of another's photons may be parts of its image.
constexpr float min_comparable = 0.2f;
/// An examined molecule has no comparable one within this distance, in PSF widths.
constexpr double close_widths = 2.5;
/// Quantiles of the photons between which molecules are examined.
constexpr double dimmest = 0.2, brightest = 0.6;

/// A range of a frame's rows.
struct Strip {
    double top, bottom;
    bool has(double y) const { return y >= top && y <= bottom; }
};

/// Keeps the spots of a strip in the frame's middle, and the neighbours within `reach_px` of the strip.
Strip cut_to_strip(int height, double reach_px, Spots& spots) {
    if (spots.count() <= strip_spots) return {0, double(height)};
    const std::size_t first = (spots.count() - strip_spots) / 2;  // spots are ordered by row
    const Strip strip{double(spots.y[first]), double(spots.y[first + strip_spots - 1])};
    Spots kept;
    for (std::size_t k = 0; k < spots.count(); ++k) {
        if (spots.y[k] < strip.top - reach_px || spots.y[k] > strip.bottom + reach_px) continue;
        kept.x.push_back(spots.x[k]), kept.y.push_back(spots.y[k]), kept.score.push_back(spots.score[k]);
    }
    spots = std::move(kept);
    return strip;
}

/// Counts dim molecules around bright ones. Dim molecules are more frequent there if the search mistook the misfit for
/// molecules.
class Companions {
  public:
    Companions(int width, int height) : width_(width), height_(height) {}

    void add(const std::vector<GridPoint>& points, const std::vector<double>& photons, const Strip& strip) {
        const auto [low, high] = limits_of_bright(photons);
        const SpotGrid grid(points, shells);
        for (std::size_t k = 0; k < points.size(); ++k) {
            const GridPoint at = points[k];
            if (photons[k] < low || photons[k] > high || !strip.has(at.y)) continue;
            ++hosts_;
            for (std::size_t shell = 0; shell < shells; ++shell) areas_[shell] += area(at, double(shell));
            grid.visit({at.x - shells, at.y - shells}, {at.x + shells, at.y + shells}, [&](std::size_t other) {
                const double r = std::hypot(points[other].x - at.x, points[other].y - at.y);
                if (other == k || !(r < shells)) return;
                const double share = photons[other] / photons[k];
                if (share > share_of(bins))
                    ++comparable_[std::size_t(r)];
                else if (share > share_of(0))
                    ++dim_[std::size_t(r)]
                          [std::size_t(bins * std::log(share / share_of(0)) / std::log(share_of(bins) / share_of(0)))];
            });
        }
    }
    bool enough() const { return hosts_ >= enough_hosts; }
    bool suffice() const { return hosts_ >= min_hosts; }

    static constexpr double reach_px() { return shells; }
    /// Returns the share of a molecule's photons that its misfit may get at each distance (JointOptions::satellites).
    std::array<float, satellite_steps> shares() const {
        std::array<float, satellite_steps> profile{};
        if (!suffice()) return profile;
        std::array<double, shells> excess{};
        double hosts_around = 0;
        for (std::size_t shell = 0; shell < first_far; ++shell) {
            excess[shell] = share_of_excess(shell);
            if (excess[shell] > 0) hosts_around += far(comparable_) * areas_[shell] / hosts_;
        }
        // The squares of several hosts' shares add (eq. 10.9); the counts already contain this sum.
        const double each = 1 / std::sqrt(std::max(hosts_around, 1.0));
        for (std::size_t shell = 0; shell < first_far; ++shell)
            for (std::size_t k = 2 * shell; k <= 2 * (shell + 1); ++k)
                profile[k] = std::max(profile[k], float(each * excess[shell]));
        return profile;
    }

  private:
    /// The shells are one pixel wide. From `first_far` on, no companion is due to the misfit.
    static constexpr std::size_t shells = 16, first_far = 12, bins = 40;
    static_assert(satellite_step_px == 0.5f && 2 * first_far < satellite_steps);
    static constexpr double min_dimmer_share = 0.4,
                            max_dimmer_share = 0.97;  // of all light, the part in dimmer molecules
    static constexpr int min_hosts = 100, enough_hosts = 1000;
    static constexpr double errors = 5, upper = 0.75;

    /// Returns the photon limits of bright molecules. Weighted by light, because the misfit may have caused most of the
    /// molecules.
    static std::pair<double, double> limits_of_bright(std::vector<double> photons) {
        std::sort(photons.begin(), photons.end());
        const double all = std::accumulate(photons.begin(), photons.end(), 0.0);
        double below = 0, low = 0, high = 0;
        for (const double n : photons) {
            if (below < min_dimmer_share * all) low = n;
            if (below < max_dimmer_share * all) high = n;
            below += n;
        }
        return {low, high};
    }
    /// Returns the lower limit of a bin of shares.
    static double share_of(std::size_t bin) {
        constexpr double least = 0.006, most = 0.4;
        return least * std::pow(most / least, double(bin) / double(bins));
    }
    /// Returns the area of a shell around `at` that lies within the frame, px^2.
    double area(const GridPoint& at, double inner) const {
        constexpr int directions = 32;
        int inside = 0;
        for (int k = 0; k < directions; ++k) {
            const double angle = 2 * std::numbers::pi * k / directions;
            const double x = at.x + (inner + 0.5) * std::cos(angle), y = at.y + (inner + 0.5) * std::sin(angle);
            inside += x >= -0.5 && y >= -0.5 && x < width_ - 0.5 && y < height_ - 0.5;
        }
        return std::numbers::pi * (2 * inner + 1) * inside / directions;
    }
    /// Returns the density beyond the misfit's reach, per px^2.
    double far(const std::array<double, shells>& counts) const {
        double sum = 0, area = 0;
        for (std::size_t shell = first_far; shell < shells; ++shell) sum += counts[shell], area += areas_[shell];
        return sum / area;
    }
    /// Returns the share that a quarter of the excess companions in a shell exceed; 0 if there is no excess.
    double share_of_excess(std::size_t shell) const {
        const double by_chance = far(comparable_) * areas_[shell];
        // The structure of the sample raises the density of all neighbours.
        const double structure = by_chance > 0 ? std::max(1.0, comparable_[shell] / by_chance) : 1;
        std::array<double, bins> excess{};
        double all = 0, expected_in_all = 0, far_in_all = 0;
        for (std::size_t bin = 0; bin < bins; ++bin) {
            std::array<double, shells> counts;
            for (std::size_t k = 0; k < shells; ++k) counts[k] = dim_[k][bin];
            const double expected = structure * far(counts) * areas_[shell];
            excess[bin] = counts[shell] - expected;
            all += excess[bin], expected_in_all += expected;
            for (std::size_t k = first_far; k < shells; ++k) far_in_all += counts[k];
        }
        const double variance = expected_in_all + expected_in_all * expected_in_all / std::max(far_in_all, 1.0) + 1;
        if (!(all > errors * std::sqrt(variance))) return 0;
        double above = 0;
        for (std::size_t bin = bins; bin-- > 0;)
            if ((above += excess[bin]) > (1 - upper) * all) return share_of(bin + 1);
        return 0;
    }

    int width_, height_;
    double hosts_ = 0;
    std::array<double, shells> areas_{}, comparable_{};
    std::array<std::array<double, bins>, shells> dim_{};
};

/// Returns the molecules that joint fits find in a frame.
std::vector<Emitter> fit_together(const LocalizeJob& job, FoundSpots& found) {
    fit_groups(found.rois, found.wide, job.options.psf, job.options.pixel_size_nm, joint_options(job), nullptr, {},
               found.fits);
    const Fits& fits = found.fits;
    std::vector<Emitter> molecules;
    for (std::size_t row = 0; row < fits.count(); ++row) {
        if (fits.status[row] != FitStatus::converged) continue;
        Emitter& one = molecules.emplace_back();
        for (int p = 0; p < parameter_count(fits.model); ++p)
            one.theta[std::size_t(p)] = double(fits.theta[std::size_t(p)][row]);
        const std::size_t window = fits.window_index(row);
        one.theta[0] += found.rois.x_corner[window], one.theta[1] += found.rois.y_corner[window];
    }
    return molecules;
}

/// Examines the molecules of several frames.
class CrowdResiduals {
  public:
    CrowdResiduals(const LocalizeJob& job, const PsfInDouble& psf)
        : job_(job),
          psf_(psf),
          joint_(job.options.psf, job.options.pixel_size_nm, {}),
          companions_(job.camera.width(), job.camera.height()),
          spot_width_px_(detect_options(job).filter.width_px) {}

    void add(std::span<const float> photoelectrons, std::uint32_t frame, const Strip& strip,
             const std::vector<Emitter>& molecules) {
        if (molecules.empty()) return;
        std::vector<GridPoint> points;
        std::vector<double> photons;
        for (const Emitter& one : molecules)
            points.push_back({one.theta[0], one.theta[1]}), photons.push_back(one.theta[2]);
        companions_.add(points, photons, strip);
        if (residuals_.size() >= enough_residuals) return;
        const double low = quantile_of(photons, dimmest), high = quantile_of(photons, brightest);
        const double close_px = close_widths * spot_width_px_;
        const SpotGrid grid(points, close_px);
        Spots examined;
        std::vector<std::size_t> of_examined;
        for (std::size_t k = 0; k < molecules.size(); ++k) {
            const GridPoint at = points[k];
            if (photons[k] < low || photons[k] > high || !strip.has(at.y) || !is_inside(at)) continue;
            bool is_alone = true;
            grid.visit({at.x - close_px, at.y - close_px}, {at.x + close_px, at.y + close_px}, [&](std::size_t other) {
                const bool is_close = std::hypot(points[other].x - at.x, points[other].y - at.y) <= close_px;
                if (other != k && is_close && photons[other] >= min_comparable * photons[k]) is_alone = false;
            });
            if (!is_alone) continue;
            examined.x.push_back(std::int32_t(std::lround(at.x)));
            examined.y.push_back(std::int32_t(std::lround(at.y)));
            examined.score.push_back(0);
            of_examined.push_back(k);
            if (residuals_.size() + of_examined.size() >= enough_residuals) break;
        }
        Rois around = make_rois(job_.camera, std::min({misfit_edge_px, job_.camera.width(), job_.camera.height()}));
        cut_rois(photoelectrons, job_.camera, examined, frame, around);
        for (std::size_t n = 0; n < of_examined.size(); ++n) examine(around, n, molecules, of_examined[n]);
    }
    bool enough() const { return residuals_.size() >= enough_residuals && companions_.enough(); }

    std::optional<CrowdMisfit> misfit() const {
        if (residuals_.size() < min_residuals) return {};
        // Excludes the scatter and the widest molecules, since unresolved pairs determine both.
        const std::optional<PsfMisfit> misfit = misfit_of(residuals_, false, false);
        if (!misfit) return {};
        CrowdMisfit crowd{.width = misfit->width,
                          .satellites = companions_.shares(),
                          .knows_satellites = companions_.suffice(),
                          .molecules = int(residuals_.size())};
        set_relative_width(crowd);
        return crowd;
    }

  private:
    void set_relative_width(CrowdMisfit& crowd) const {
        std::vector<double> widths;
        for (const SpotResidual& one : residuals_)
            widths.push_back(std::sqrt(std::max(1 + (one.moments.xx + one.moments.yy) / (2 * one.variance_px2), 0.0)));
        const double middle = crowd.relative_width = median(widths);
        for (double& width : widths) width = std::abs(width - middle);
        // The error of a median, from the median absolute deviation, as for lone spots.
        crowd.relative_width_error = 1.2533 * 1.4826 * median(widths) / std::sqrt(double(widths.size()));
    }

    /// Beyond the frame's edge, neighbours are unknown.
    bool is_inside(const GridPoint& at) const {
        const double reach = close_widths * spot_width_px_;
        return at.x >= reach && at.y >= reach && at.x <= job_.camera.width() - 1 - reach &&
               at.y <= job_.camera.height() - 1 - reach;
    }

    /// Examines molecule k in the n-th window, with the light of all molecules that are not part of its image.
    void examine(const Rois& around, std::size_t n, const std::vector<Emitter>& molecules, std::size_t k) {
        JointPixels pixels = joint_pixels(around, {&n, 1});
        std::vector<JointLight> light;
        for (std::size_t other = 0; other < molecules.size(); ++other)
            if (other != k && molecules[other].theta[2] >= min_comparable * molecules[k].theta[2] &&
                light_reaches(psf_, molecules[other], pixels))
                append_light({&molecules[other], 1}, pixels, light);
        joint_.add_light(light, pixels);
        if (auto residual = measure_residual(psf_, 0, pixels, molecules[k], {}))
            residuals_.push_back(*std::move(residual));
    }

    const LocalizeJob& job_;
    const PsfInDouble& psf_;
    JointFitter joint_;
    Companions companions_;
    double spot_width_px_;
    std::vector<SpotResidual> residuals_;
};

}  // namespace

std::optional<CrowdMisfit> measure_crowd_misfit(Movie& movie, const LocalizeJob& given, const PsfInDouble& psf) {
    LocalizeJob job = given;
    job.options.fit.psf_misfit = min_misfit;
    struct Frame {
        AlignedFloats photoelectrons;
        std::uint32_t number = 0;
        Strip strip{};
        std::vector<Emitter> molecules;
    };
    const std::int64_t there = job.frames.end - job.frames.begin, frames = std::min(max_crowd_frames, there);
    const double beside_px = Companions::reach_px() + misfit_half_px;
    const auto fit = [&](std::int64_t n) {
        const std::int64_t number = job.frames.begin + n * there / frames;
        Frame frame;
        FrameBlock block;
        try {
            movie.read(number, 1, block);
        } catch (const InputError&) {
            return frame;
        }
        frame.number = std::uint32_t(number);
        frame.photoelectrons.resize(std::size_t(job.camera.width()) * std::size_t(job.camera.height()));
        job.camera.to_photoelectrons(block.frame(0), block.type, frame.photoelectrons);
        Spots spots;
        Detector(job.camera, detect_options(job)).find(frame.photoelectrons, spots);
        frame.strip = cut_to_strip(job.camera.height(), beside_px, spots);
        FoundSpots found(job);
        found.cut(frame.photoelectrons, job.camera, spots, frame.number);
        if (found.scores.empty()) return frame;
        Fitter fitter;
        FitInfo unused;
        found.fits = fit_on_this_thread(job, fitter, found.rois, unused);
        leave_out_unusable(job, found);
        frame.molecules = fit_together(job, found);
        return frame;
    };
    CrowdResiduals residuals(job, psf);
    in_arena_of(job.threads, [&] {
        const std::int64_t together = std::clamp<std::int64_t>(tbb::this_task_arena::max_concurrency(), 1, frames);
        for (std::int64_t n = 0; n < frames && !residuals.enough(); n += together) {
            std::vector<Frame> some(static_cast<std::size_t>(std::min(together, frames - n)));
            tbb::parallel_for(std::size_t(0), some.size(), [&](std::size_t k) { some[k] = fit(n + std::int64_t(k)); });
            for (const Frame& frame : some)  // as many as a single thread would use
                if (!residuals.enough())
                    residuals.add(frame.photoelectrons, frame.number, frame.strip, frame.molecules);
        }
    });
    return residuals.misfit();
}

}  // namespace glint
