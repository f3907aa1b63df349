// Counts the neighbours of each row in its frame, and extrapolates their density to the row's own position.
// SPDX-License-Identifier: MIT
#include "pipeline/p_single.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/arena.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "pipeline/spot_grid.hpp"

namespace glint {
namespace {

/// Half edges of the squares between which neighbours are counted, in PSF widths. Joint fits separate molecules beyond
/// `near_begin`. At smaller distances, spots of other frames are counted; beyond `close_begin` they are not images of
/// the same molecule.
constexpr double close_begin = 1, near_begin = 2.2, near_end = 4.5;
/// Parameters of eq. 10.12, fitted to simulated movies of random, filamentous and clustered molecules.
constexpr double unresolved_scale = 12.5, saturation = 0.063, steepness = 3.5, max_steepness = 7.9;
/// Photons follow roughly a gamma distribution. Its shape has a prior with the weight of `prior_rows` rows, and limits.
constexpr double prior_shape = 1.7, prior_rows = 3, min_shape = 1, max_shape = 3.6;
constexpr double prior_neighbours = 20;
constexpr double max_companions = 20;

/// Neighbours found, and the searched area, px^2.
struct Ring {
    double count = 0, area = 0;
    void operator+=(const Ring& more) { count += more.count, area += more.area; }
    /// Returns the density per px^2, as if `prior` more neighbours with the prior density had been found.
    double density(double prior, double prior_density) const {
        return (count + prior) / (area + prior / prior_density);
    }
};

double area_within(GridPoint at, double half_edge, int width, int height) {
    const double x = std::min(at.x + half_edge, width - 0.5) - std::max(at.x - half_edge, -0.5);
    const double y = std::min(at.y + half_edge, height - 0.5) - std::max(at.y - half_edge, -0.5);
    return std::max(x, 0.0) * std::max(y, 0.0);
}

/// The molecules of a frame.
class FramePoints {
  public:
    FramePoints(std::vector<GridPoint> points, int width, int height, double reach_px)
        : points_(std::move(points)), width_(width), height_(height), grid_(points_, reach_px) {}

    /// Returns the number of points other than k between two squares around it, and the area of the frame there.
    Ring around(std::size_t k, double inner_px, double outer_px) const {
        const GridPoint at = points_[k];
        Ring ring{0, area_within(at, outer_px, width_, height_) - area_within(at, inner_px, width_, height_)};
        grid_.visit({at.x - outer_px, at.y - outer_px}, {at.x + outer_px, at.y + outer_px}, [&](std::size_t other) {
            const double apart = std::max(std::abs(points_[other].x - at.x), std::abs(points_[other].y - at.y));
            ring.count += apart >= inner_px && apart < outer_px;
        });
        return ring;
    }

  private:
    std::vector<GridPoint> points_;
    int width_, height_;
    SpotGrid grid_;
};

/// Detected spots of many frames, by pixel.
class SpotsOfFrames {
  public:
    void add(const Spots& spots, std::int64_t frame) {
        for (std::size_t k = 0; k < spots.count(); ++k)
            points_.push_back({double(spots.x[k]), double(spots.y[k])}), frames_.push_back(frame);
    }
    std::size_t count() const { return points_.size(); }

    double pair_excess(int width, int height, double spot_width_px) const {
        // The squares end halfway between pixels.
        const auto edge = [&](double widths) { return std::ceil(widths * spot_width_px) - 0.5; };
        const double begin = edge(close_begin), middle = edge(near_begin), end = edge(near_end);
        const SpotGrid grid(points_, end);
        Ring close, near;
        for (std::size_t k = 0; k < points_.size(); ++k) {
            const GridPoint at = points_[k];
            const auto area = [&](double half_edge) { return area_within(at, half_edge, width, height); };
            close.area += area(middle) - area(begin), near.area += area(end) - area(middle);
            grid.visit({at.x - end, at.y - end}, {at.x + end, at.y + end}, [&](std::size_t other) {
                if (frames_[other] == frames_[k]) return;  // nearby spots of a frame hide each other
                const double apart = std::max(std::abs(points_[other].x - at.x), std::abs(points_[other].y - at.y));
                close.count += apart > begin && apart<middle, near.count += apart> middle && apart < end;
            });
        }
        if (!(close.count > 0) || !(near.count > 0)) return 1;
        const double excess = std::log(close.count / close.area * near.area / near.count);
        const double square_error = 2 / close.count + 2 / near.count;  // each pair is counted twice
        return excess > 0 ? std::exp(excess * std::max(0.0, 1 - 2 * square_error / (excess * excess))) : 1;
    }

  private:
    std::vector<GridPoint> points_;
    std::vector<std::int64_t> frames_;
};

double width_of(const Localizations& rows, std::size_t row, double spot_width_px) {
    return rows.sx_px.empty() || rows.sy_px.empty() ? spot_width_px
                                                    : std::sqrt(double(rows.sx_px[row]) * double(rows.sy_px[row]));
}

/// Returns how much more probable each row's photons are for two molecules than for one; 1 on average.
std::vector<double> brightness_odds(const Localizations& rows, std::span<const std::size_t> members) {
    const double count = double(members.size());
    double mean = 0, square = prior_rows / prior_shape, sum = 0;
    for (const std::size_t row : members) mean += double(rows.photons[row]) / count;
    for (const std::size_t row : members) square += std::pow(double(rows.photons[row]) / mean - 1, 2);
    const double shape = std::clamp((count + prior_rows) / square, min_shape, max_shape);
    std::vector<double> odds;
    for (const std::size_t row : members)
        sum += odds.emplace_back(std::pow(std::max(double(rows.photons[row]) / mean, 0.0), shape));
    for (double& one : odds) one *= count / sum;
    return odds;
}

struct Surroundings {
    int width, height;
    double spot_width_px;
    double steep;   ///< density at a row, relative to the density beside it
    double misfit;  ///< of the PSF; raises the gain that a second molecule needs (eq. 10.4)
};

/// `members`: the converged rows of one frame.
void fill_frame(Localizations& rows, std::span<const std::size_t> members, const Surroundings& frame,
                std::vector<double>& p_single) {
    if (members.empty()) return;
    std::vector<GridPoint> points;
    for (const std::size_t row : members) points.push_back({rows.x_px[row], rows.y_px[row]});
    const std::vector<double> brightness = brightness_odds(rows, members);
    const double inner = near_begin * frame.spot_width_px, outer = near_end * frame.spot_width_px;
    const FramePoints molecules(std::move(points), frame.width, frame.height, outer);
    std::vector<Ring> rings;
    Ring all;
    for (std::size_t k = 0; k < members.size(); ++k) all += rings.emplace_back(molecules.around(k, inner, outer));
    const double count = double(members.size()), area = double(frame.width) * frame.height;
    const double typical = all.density(1, std::max(count - 1, 0.5) / area);
    for (std::size_t k = 0; k < members.size(); ++k) {
        const std::size_t row = members[k];
        const double own_width = width_of(rows, row, frame.spot_width_px);
        const double precision = std::sqrt(double(rows.lpx_px[row]) * double(rows.lpy_px[row]));
        const double near = rings[k].density(prior_neighbours, typical) * frame.spot_width_px * frame.spot_width_px;
        const double crowded = near / saturation;
        const double needed_gain = 1 + frame.misfit * frame.misfit * double(rows.photons[row]) / 5;
        const double companions = unresolved_scale * std::sqrt(precision / own_width * needed_gain) * near *
                                  frame.steep * (1 + crowded * crowded);
        const double p = 1 / (1 + std::expm1(std::min(companions, max_companions)) * brightness[k]);
        p_single[row] = std::isfinite(p) ? double(float(p)) : 0;  // with the precision of files
        if (p_single[row] >= probably_single || !std::isfinite(precision)) continue;
        const double more = several_variance(p_single[row], precision, own_width);
        for (float* error : {&rows.lpx_px[row], &rows.lpy_px[row]})
            *error = float(std::sqrt(double(*error) * double(*error) + more));
    }
}

}  // namespace

double measure_pair_excess(Movie& movie, const LocalizeJob& job) {
    constexpr std::int64_t max_frames = 64, max_pixels = std::int64_t(1) << 19;
    constexpr std::size_t enough_spots = 4096;
    const int width = job.camera.width(), height = job.camera.height();
    const std::int64_t pixels = std::int64_t(width) * height, there = job.frames.end - job.frames.begin;
    const std::int64_t frames = std::min({max_frames, std::max<std::int64_t>(max_pixels / pixels, 4), there});
    struct Frame {
        std::int64_t number = 0;
        Spots spots;
    };
    const auto detect = [&](std::int64_t n) {
        // the first frames are spread over the movie, too
        const std::int64_t place = frames == max_frames ? n * 37 % max_frames : n;
        Frame frame{job.frames.begin + place * there / frames, {}};
        Detector detector(job.camera, detect_options(job));
        AlignedFloats photoelectrons(std::size_t(width) * std::size_t(height));
        FrameBlock block;
        try {
            movie.read(frame.number, 1, block);
        } catch (const InputError&) {
            return frame;
        }
        job.camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
        detector.find(photoelectrons, frame.spots);
        return frame;
    };
    SpotsOfFrames all;
    in_arena_of(job.threads, [&] {
        const std::int64_t together = std::clamp<std::int64_t>(tbb::this_task_arena::max_concurrency(), 1, frames);
        for (std::int64_t n = 0; n < frames && all.count() < enough_spots; n += together) {
            std::vector<Frame> some(static_cast<std::size_t>(std::min(together, frames - n)));
            tbb::parallel_for(std::size_t(0), some.size(),
                              [&](std::size_t k) { some[k] = detect(n + std::int64_t(k)); });
            for (const Frame& frame : some)  // as many as a single thread would use
                if (all.count() < enough_spots) all.add(frame.spots, frame.number);
        }
    });
    return all.pair_excess(width, height, detect_options(job).filter.width_px);
}

void add_p_single(const LocalizeJob& job, Localizations& rows) {
    const double excess = job.lone.pair_excess;
    const Surroundings frame{.width = job.camera.width(),
                             .height = job.camera.height(),
                             .spot_width_px = detect_options(job).filter.width_px,
                             .steep = excess > 0 ? std::clamp(std::pow(excess, steepness), 1.0, max_steepness) : 1,
                             .misfit = job.options.fit.psf_misfit};
    std::vector<double> p_single(rows.size(), 0.0);
    std::vector<std::size_t> members;
    for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
        members.clear();
        for (end = begin; end < rows.size() && rows.frame[end] == rows.frame[begin]; ++end)
            if (const auto status = FitStatus(rows.status[end]);
                status == FitStatus::converged || status == FitStatus::at_bound || status == FitStatus::saturated)
                members.push_back(end);
        fill_frame(rows, members, frame, p_single);
    }
    rows.extra[p_single_column] = {std::move(p_single), false};
}

}  // namespace glint
