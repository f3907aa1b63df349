// Finds static light, decides whether its structure matters, and leaves out what may be molecules or beads.
// SPDX-License-Identifier: MIT
#include "pipeline/static_background.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/aligned.hpp"
#include "base/arena.hpp"
#include "data/known_light.hpp"
#include "detect/score_rows.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "pipeline/light_maps.hpp"
#include "pipeline/temporal_means.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr std::int64_t shortest_movie = 32;  // in frames: shorter movies contain too little information
constexpr std::int64_t min_sample = 16, first_sample = 32, max_sample = 256;
constexpr std::int64_t pixels_of_sample = std::int64_t(1) << 26;

constexpr double score_that_matters = 1;  // in standard deviations of a frame's noise
constexpr double noise_errors = 5;
constexpr double slope_that_matters = 0.15;  // shift of dim spots by a slope, in units of their precision

double square(double value) { return value * value; }

/// Sigma^2 times the downward curvatures of a map that was smoothed with a Gaussian: the smaller curvature, and the
/// mean of both. For a Gaussian spot of width s they are largest for a blur of s (Lindeberg, Int. J. Comput. Vis. 30,
/// 79 (1998)).
struct Curvature {
    float lesser, mean;
};
/// `smooth(x, y)`: the smoothed map within the frame.
template <class Smooth>
Curvature curvature_at(int x, int y, const FrameField& field, double blur_px, const Smooth& smooth) {
    const auto value = [&](int u, int v) {
        return smooth(std::clamp(u, 0, field.width - 1), std::clamp(v, 0, field.height - 1));
    };
    const float scale = float(blur_px * blur_px), centre = 2 * value(x, y);
    const float xx = value(x - 1, y) + value(x + 1, y) - centre, yy = value(x, y - 1) + value(x, y + 1) - centre;
    const float xy = (value(x - 1, y - 1) + value(x + 1, y + 1) - value(x + 1, y - 1) - value(x - 1, y + 1)) / 4;
    const float mean = -0.5f * scale * (xx + yy);
    return {mean - scale * std::hypot(0.5f * (xx - yy), xy), mean};
}

/// Returns the noise of a pixel of the mean map in one frame.
double noise_e(const LocalizeJob& job, const LightMap& map, std::size_t k) {
    const CameraView::Pixel pixel = job.camera.pixel(k);
    return std::sqrt(total_variance(shot_noise(map[k], job.camera.excess_noise() / pixel.qe), pixel.variance_e2));
}

/// Computes the variances of a row's pixels in one frame.
void variances_of_row(const LocalizeJob& job, const LightMap& map, const FrameField& field, int y, float* variances) {
    const float excess_noise = job.camera.excess_noise();
    const float* light = map.data() + field.at(0, y);
    if (job.camera.uniform()) {
        const float per_electron = excess_noise / job.camera.qe_scalar(), read = job.camera.variance_scalar();
        for (int x = 0; x < field.width; ++x) variances[x] = total_variance(shot_noise(light[x], per_electron), read);
        return;
    }
    for (int x = 0; x < field.width; ++x) {
        const CameraView::Pixel pixel = job.camera.pixel(field.at(x, y));
        variances[x] = total_variance(shot_noise(light[x], excess_noise / pixel.qe), pixel.variance_e2);
    }
}

/// Returns the index of a pixel whose value is the quantile `part` of the map.
std::size_t index_of_quantile(const LightMap& map, double part) {
    LightMap values = map;
    const auto at = values.begin() + std::ptrdiff_t(part * double(values.size()));
    std::nth_element(values.begin(), at, values.end());
    return std::size_t(std::find(map.begin(), map.end(), *at) - map.begin());
}

/// Marks a disk.
void mark_disk(int x, int y, int radius, const FrameField& field, std::vector<std::uint8_t>& marks) {
    for (int v = std::max(y - radius, 0); v <= std::min(y + radius, field.height - 1); ++v)
        for (int u = std::max(x - radius, 0); u <= std::min(x + radius, field.width - 1); ++u)
            if ((u - x) * (u - x) + (v - y) * (v - y) <= radius * radius) marks[field.at(u, v)] = 1;
}

/// Returns the level that three quarters of a circle are below. The circle has a radius of three widths around the
/// position.
float level_around(const LightMap& map, const FrameField& field, int x, int y) {
    constexpr std::size_t places = 16;
    std::array<float, places> values;
    for (std::size_t k = 0; k < places; ++k) {
        const double angle = 2 * M_PI * double(k) / double(places), reach = 3 * field.spot_width_px;
        values[k] = map[field.at(std::clamp(int(std::lround(x + reach * std::cos(angle))), 0, field.width - 1),
                                 std::clamp(int(std::lround(y + reach * std::sin(angle))), 0, field.height - 1))];
    }
    std::nth_element(values.begin(), values.begin() + 3 * places / 4, values.end());
    return values[3 * places / 4];
}

/// Returns true if no pixel of the 3x3 neighbourhood has a higher value. `value(x, y)`: value of a pixel.
template <class Value>
bool is_greatest(const Value& value, const FrameField& field, int x, int y) {
    const float here = value(x, y);
    for (int v = std::max(y - 1, 0); v <= std::min(y + 1, field.height - 1); ++v)
        for (int u = std::max(x - 1, 0); u <= std::min(x + 1, field.width - 1); ++u)
            if (!(value(u, v) <= here)) return false;
    return true;
}

/// Returns the distance, in widths, up to which the wings of a real PSF matter in the background. They fall with the
/// third power of the distance, and are about 0.03 of the height at three widths. `height`: of the peak, in units of
/// the noise.
double wing_widths(double height) { return std::cbrt(std::clamp(4 * height, 1.0, 1e5)); }

/// Pixels that may be molecules or beads, and pixels that may contain their light.
struct SpotMarks {
    std::vector<std::uint8_t> spots;  // not background
    std::vector<std::uint8_t> light;  // includes the wings of spots, which must not count as structure
};

/// A peak of a mean map that may be a molecule or a bead.
struct Peak {
    int x, y;
    float bends;
};

/// Returns the peaks of a map that have the PSF's width. A peak has more curvature at the PSF's scale than at twice
/// that scale, in all directions. It is also higher than its surroundings, unlike the corner of an edge.
std::vector<Peak> peaks_of(const LightMap& map, const LocalizeJob& job, const FrameField& field) {
    constexpr double min_peak = 0.3;  // in units of a frame's noise: 0.4 of the value of a spot at the threshold
    const LightMap smooth = blurred(map, field, field.spot_width_px);
    const auto curvature = [&](int x, int y) {
        return curvature_at(x, y, field, field.spot_width_px, [&](int u, int v) { return smooth[field.at(u, v)]; });
    };
    const Smoothing twice(field, 2 * field.spot_width_px);
    const auto mean_of_twice = [&](int x, int y) {  // needed at few positions, so the map is smoothed only around them
        const int from = std::max(x - 1 - twice.radius(), 0), until = std::min(x + 2 + twice.radius(), field.width);
        std::array<LightMap, 3> rows;
        for (int v = -1; v <= 1; ++v) {
            rows[std::size_t(v + 1)].assign(std::size_t(field.width), 0);
            twice.down(
                std::clamp(y + v, 0, field.height - 1), from, until, [&](std::size_t k) { return map[k]; },
                rows[std::size_t(v + 1)].data());
        }
        return curvature_at(x, y, field, 2 * field.spot_width_px,
                            [&](int u, int v) {
                                const int row = v - y + 1;
                                return twice.across(rows[std::size_t(row)].data(), u);
                            })
            .mean;
    };
    const auto is_peak = [&](int x, int y, float bends) {
        return bends > min_peak * noise_e(job, map, field.at(x, y)) / field.spot_width_px &&
               is_greatest([&](int u, int v) { return curvature(u, v).lesser; }, field, x, y) &&
               smooth[field.at(x, y)] - level_around(smooth, field, x, y) > bends && bends > mean_of_twice(x, y);
    };
    // Most pixels have so little curvature that the mean of both curvatures, an upper limit of the smaller one, rejects
    // them.
    const float part = float(square(0.999 * min_peak / field.spot_width_px)),
                scale = float(square(field.spot_width_px));
    std::vector<std::vector<Peak>> of_rows(std::size_t(field.height));
    tbb::parallel_for(tbb::blocked_range<int>(0, field.height), [&](const tbb::blocked_range<int>& rows) {
        std::vector<float> least(std::size_t(field.width));
        std::vector<std::uint8_t> may_be(std::size_t(field.width));
        for (int y = rows.begin(); y < rows.end(); ++y) {
            const float *above = smooth.data() + field.at(0, std::max(y - 1, 0)),
                        *here = smooth.data() + field.at(0, y),
                        *below = smooth.data() + field.at(0, std::min(y + 1, field.height - 1));
            variances_of_row(job, map, field, y, least.data());
            const auto look = [&](int x, int before, int after) {
                const float mean =
                    -0.5f * scale * ((here[before] + here[after] - 2 * here[x]) + (above[x] + below[x] - 2 * here[x]));
                return mean > 0 && mean * mean > part * least[std::size_t(x)];
            };
            const int last = field.width - 1;
            for (int x = 1; x < last; ++x) may_be[std::size_t(x)] = look(x, x - 1, x + 1);
            may_be[0] = look(0, 0, std::min(1, last)),
            may_be[std::size_t(last)] = look(last, std::max(last - 1, 0), last);
            for (int x = 0; x <= last; ++x) {
                if (!may_be[std::size_t(x)]) continue;
                if (const float bends = curvature(x, y).lesser; is_peak(x, y, bends))
                    of_rows[std::size_t(y)].push_back({x, y, bends});
            }
        }
    });
    std::vector<Peak> peaks;
    for (const auto& row : of_rows) peaks.insert(peaks.end(), row.begin(), row.end());
    return peaks;
}

/// Marks what may be molecules or beads: peaks of the PSF's width, and pixels that are bright only in part of the
/// frames. Fills `maps` at the marked spots. TemporalMeans::all must be one of the maps.
SpotMarks mark_spots(TemporalMeans& means, const std::vector<LightMap*>& maps, const LocalizeJob& job,
                     const FrameField& field) {
    const int window = (job.options.roi_size + 4) / 2 + 1;
    SpotMarks marks{means.unsteady, means.unsteady};
    fill_marked(maps, marks.spots, field);
    const LightMap& steady = means.all;
    double noise_of_dark = 0;
    const auto wings = [&](float height) {
        if (noise_of_dark == 0) noise_of_dark = noise_e(job, steady, index_of_quantile(steady, 0.1));
        return int(std::ceil(field.spot_width_px * wing_widths(double(height) / noise_of_dark)));
    };
    const auto plain = [&](int x, int y) { return means.plain[field.at(x, y)]; };
    for (int y = 0; y < field.height; ++y)
        for (int x = 0; x < field.width; ++x)
            if (means.unsteady[field.at(x, y)] && is_greatest(plain, field, x, y))
                mark_disk(x, y, wings(plain(x, y)), field, marks.light);
    const std::vector<Peak> peaks = peaks_of(steady, job, field);
    for (const auto& [x, y, bends] : peaks) {
        // Up to where a Gaussian spot, whose height is four times its curvature, falls to a quarter of the noise; at
        // most its window.
        const double heights = 16 * bends / noise_e(job, steady, field.at(x, y));
        const int reach = int(std::ceil(field.spot_width_px * std::sqrt(2 * std::log(std::max(heights, 1.0))))) + 1;
        mark_disk(x, y, std::min(reach, window), field, marks.spots);
        mark_disk(x, y, std::max(reach, wings(4 * bends)), field, marks.light);
    }
    if (!peaks.empty()) fill_marked(maps, marks.spots, field);
    return marks;
}

/// Returns the scores of all pixels of a map, as if it were a frame.
LightMap scores_of(const LightMap& map, const LocalizeJob& job, const FrameField& field) {
    const auto rows = make_score_rows(job.camera, MatchedFilter{field.spot_width_px});
    PaddedRow narrow(field.width);
    std::vector<int> columns(std::size_t(field.width));
    std::iota(columns.begin(), columns.end(), 0);
    LightMap scores(map.size());
    rows->begin(map.data());
    for (int y = 0; y < field.height; ++y) {
        rows->row(y, narrow.data());
        rows->scores(y, columns, scores.data() + field.at(0, y));
    }
    return scores;
}

/// Returns how much the slopes of a map shift dim spots that are fitted with a flat background, in units of their
/// precision. Along x and y, in tiles with few marked pixels. A slope s on the background b shifts by s / (sqrt(f b +
/// v) sqrt(sum of (dE/dx)^2)), sum = 1 / (8 pi s^4).
std::vector<double> shifts_of(const LightMap& map, const std::vector<std::uint8_t>& marks, const LocalizeJob& job,
                              const FrameField& field) {
    constexpr int tile = 16, max_marked = tile * tile / 4;
    std::vector<double> shifts;
    std::vector<float> variances(std::size_t(tile) * std::size_t(field.width));
    for (int top = 0; top + tile <= field.height; top += tile) {
        for (int y = 0; y < tile; ++y)
            variances_of_row(job, map, field, top + y, variances.data() + std::size_t(y) * std::size_t(field.width));
        for (float& one : variances) one = std::sqrt(one);
        for (int left = 0; left + tile <= field.width; left += tile) {
            double along_x = 0, along_y = 0, squares = 0, noise = 0;
            int marked = 0;
            for (int y = 0; y < tile; ++y)
                for (int x = 0; x < tile; ++x) {
                    const std::size_t k = field.at(left + x, top + y);
                    marked += marks[k];
                    const double u = x - 0.5 * (tile - 1), v = y - 0.5 * (tile - 1);
                    along_x += u * double(map[k]), along_y += v * double(map[k]), squares += u * u;
                    noise += double(variances[field.at(left + x, y)]) / (tile * tile);
                }
            if (marked > max_marked) continue;
            const double shift = std::sqrt(8 * M_PI) * field.spot_width_px * field.spot_width_px / (noise * squares);
            shifts.push_back(shift * along_x), shifts.push_back(shift * along_y);
        }
    }
    return shifts;
}

/// Returns true if both maps, whose noise is independent, have structure in unmarked pixels that would shift spots or
/// be mistaken for spots. False if too few pixels are unmarked.
bool has_structure(const LightMap& one, const LightMap& other, double frames, const std::vector<std::uint8_t>& marks,
                   const LocalizeJob& job, const FrameField& field) {
    constexpr double min_free = 0.25;
    if (double(std::count(marks.begin(), marks.end(), 0)) < min_free * double(marks.size())) return false;
    const double min_score = std::max(score_that_matters, noise_errors * std::sqrt(2 / frames));
    LightMap scores, of_other;
    tbb::parallel_invoke([&] { scores = scores_of(one, job, field); },
                         [&] { of_other = scores_of(other, job, field); });
    const double spot_px = 4 * M_PI * field.spot_width_px * field.spot_width_px;  // area in which scores are similar
    double pixels = 0;
    for (std::size_t k = 0; k < scores.size(); ++k)
        pixels += !marks[k] && std::min(std::abs(scores[k]), std::abs(of_other[k])) > min_score &&
                  (scores[k] > 0) == (of_other[k] > 0);
    if (pixels > spot_px) return true;
    const std::vector<double> shifts = shifts_of(one, marks, job, field),
                              shifts_of_other = shifts_of(other, marks, job, field);
    const double square = std::inner_product(shifts.begin(), shifts.end(), shifts_of_other.begin(), 0.0);
    return 2 * square > slope_that_matters * slope_that_matters * double(shifts.size());  // sum over both axes
}

/// Returns the part of the field in which the structure of one half of the movie differs from the mean by more than
/// half of a frame's noise. The difference is scored on a flat background, in units of each pixel's own noise, because
/// the background varies beside an edge.
double share_changed(const TemporalMeans& means, double frames, const LocalizeJob& job, const FrameField& field) {
    const double min_score = std::max(0.5 * score_that_matters, noise_errors / std::sqrt(frames));
    const LightMap flat(means.all.size(), std::max(means.all[index_of_quantile(means.all, 0.5)], 1.0f));
    LightMap changed = flat;
    for (std::size_t k = 0; k < changed.size(); ++k)
        changed[k] +=
            0.5f * (means.early[k] - means.late[k]) * float(noise_e(job, flat, k) / noise_e(job, means.all, k));
    double pixels = 0;
    for (const float score : scores_of(changed, job, field)) pixels += std::abs(score) > min_score;
    return pixels / double(changed.size());
}

/// Returns the share of false spots, estimated in a few frames. A frame mirrored about its static level has no
/// molecules, only noise and structure that the camera's model does not contain. All spots found in it are false.
/// Leaves out regions around spots, and frames of which less than a third remains. 0 if chance would explain the spots
/// found.
double share_false(Movie& movie, const LocalizeJob& job, const LightMap& light, const LightMap& level,
                   const FrameField& field) {
    constexpr double min_false = 5, min_free = 0.3, reach_widths = 4;
    const CameraView camera = light.empty() ? job.camera : with_known_light(job.camera, light);
    const std::int64_t all = job.frames.end - job.frames.begin, count = std::clamp<std::int64_t>(all / 200, 2, 4);
    std::vector<AlignedFloats> frames;
    FrameBlock block;
    for (std::int64_t k = 0; k < count; ++k) {
        try {
            movie.read(job.frames.begin + (2 * k + 1) * all / (2 * count), 1, block);
        } catch (const InputError&) {
            continue;
        }
        frames.emplace_back(level.size());
        camera.to_photoelectrons(block.frame(0), block.type, frames.back());
    }
    std::vector<double> found(frames.size()), dark(frames.size());
    // The rings of a measured PSF are brighter than the gaps between them.
    const double rings_px = PsfInDouble(job.options.psf, job.options.pixel_size_nm).reach_px();
    tbb::parallel_for(std::size_t(0), frames.size(), [&](std::size_t k) {
        AlignedFloats& frame = frames[k];
        Detector detector(camera, detect_options(job));
        Spots spots;
        detector.find(frame, spots);
        std::vector<std::uint8_t> covered(level.size(), 0);
        for (std::size_t s = 0; s < spots.count(); ++s) {
            // A spot of score z is about 0.6 z / width times as high as the noise.
            const double wings = wing_widths(0.6 * double(spots.score[s]) / field.spot_width_px);
            const double reach_px = std::max(std::max(reach_widths, wings) * field.spot_width_px, rings_px);
            mark_disk(spots.x[s], spots.y[s], int(std::ceil(reach_px)), field, covered);
        }
        const double free = double(std::count(covered.begin(), covered.end(), 0)) / double(level.size());
        if (free < min_free) return;
        found[k] = double(spots.count());
        for (std::size_t i = 0; i < level.size(); ++i) frame[i] = covered[i] ? level[i] : 2 * level[i] - frame[i];
        detector.find(frame, spots);
        dark[k] = double(spots.count()) / free;
    });
    const auto sum = [](const std::vector<double>& of) { return std::accumulate(of.begin(), of.end(), 0.0); };
    if (sum(dark) < min_false) return 0;
    return std::min(sum(dark) / std::max(sum(found), 1.0), 1.0);
}

MeasuredBackground measured_by_all_threads(Movie& movie, const LocalizeJob& job) {
    MeasuredBackground measured;
    const std::int64_t frames = job.frames.end - job.frames.begin;
    const FrameField field{job.camera.width(), job.camera.height(), detect_options(job).filter.width_px};
    if (job.frames.end == unknown_end || frames < shortest_movie) return measured;
    const std::int64_t limit = std::max(pixels_of_sample / (std::int64_t(field.width) * field.height), min_sample);
    constexpr double max_unsteady = 0.5;
    bool is_too_crowded = false;
    std::vector<std::uint8_t> light_of_spots;
    const auto measure = [&](std::int64_t part, std::int64_t most, bool with_halves) {
        measured.found.frames = int(std::clamp(frames / part, min_sample, std::min(most, limit)));
        TemporalMeans means =
            temporal_means(movie, job, measured.found.frames, int(std::ceil(3 * field.spot_width_px)), with_halves);
        const auto unsteady = std::count(means.unsteady.begin(), means.unsteady.end(), 1);
        is_too_crowded = double(unsteady) > max_unsteady * double(means.unsteady.size());
        if (is_too_crowded) return means;
        std::vector<LightMap*> maps{&means.all, &means.odd, &means.even};
        if (with_halves) maps.insert(maps.end(), {&means.early, &means.late});
        light_of_spots = mark_spots(means, maps, job, field).light;
        return means;
    };
    TemporalMeans means = measure(20, first_sample, false);
    // No light is measured in the border of zeros that registration leaves, or if the offset is too high.
    const auto is_below_zero = [&] {
        constexpr double part = 0.01;
        constexpr float least = -0.5f;
        const auto below = std::count_if(means.all.begin(), means.all.end(), [](float light) { return light < least; });
        if (double(below) <= std::floor(part * double(means.all.size()))) return false;
        const std::size_t low = index_of_quantile(means.all, part);
        return means.all[low] < least - noise_errors * noise_e(job, means.all, low) / std::sqrt(measured.found.frames);
    };
    if (is_too_crowded) {
        measured.found.share_false =
            share_false(movie, job, {}, blurred(means.plain, field, 12 * field.spot_width_px), field);
        return measured;
    }
    if (is_below_zero()) return measured;
    if (!has_structure(means.odd, means.even, measured.found.frames, light_of_spots, job, field)) {
        measured.found.share_false = share_false(movie, job, {}, means.all, field);
        return measured;
    }
    means = measure(4, max_sample, true);
    if (is_too_crowded || is_below_zero()) return measured;
    measured.found.share_changed = share_changed(means, measured.found.frames, job, field);
    // Keeps a floor of light in the flat background of the fits, which can follow its variation from frame to frame.
    const float floor = std::max(means.all[index_of_quantile(means.all, 0.01)], 0.0f);
    for (const float light : means.all) measured.light_e.push_back(std::max(light - floor, 0.0f));
    measured.found.max_e = *std::max_element(measured.light_e.begin(), measured.light_e.end());
    LightMap level = means.all;
    for (std::size_t k = 0; k < level.size(); ++k) level[k] -= measured.light_e[k];
    measured.found.share_false = share_false(movie, job, measured.light_e, level, field);
    return measured;
}

}  // namespace

MeasuredBackground measure_background(Movie& movie, const LocalizeJob& job) {
    return in_arena_of(job.threads, [&] { return measured_by_all_threads(movie, job); });
}

std::string background_warning(const StaticBackground& background) {
    constexpr double enough = 0.01, max_false = 0.05;
    if (background.max_e > 0 && !background.is_known)
        return fmt::format(
            "the background has structure of up to {:.3g} e- per pixel (in the first {} frames), which causes false "
            "localizations and shifts others. It is not subtracted, because that requires frames of the whole movie: "
            "save the movie, and localize the file",
            background.max_e, background.frames);
    if (background.max_e > 0 && background.share_changed > enough)
        return fmt::format(
            "the background has structure that changes over the movie by more than a frame's noise, in {:.0f} % of "
            "the field: only its mean is subtracted, and the rest causes false localizations and shifts others. "
            "Localize the movie in parts (`frames=BEGIN:END`), each with its own background",
            100 * background.share_changed);
    if (background.share_false > max_false)
        return fmt::format(
            "about {:.0f} % of the spots may be false: that many positions between spots are as much darker than "
            "their surroundings as spots are brighter. The cause is noise or structure that the camera's values do "
            "not contain, such as a moving background, column noise, or wrong camera values. A higher `threshold` "
            "finds fewer false spots",
            100 * background.share_false);
    return "";
}

}  // namespace glint
