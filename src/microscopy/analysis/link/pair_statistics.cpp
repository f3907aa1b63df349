// Counts pairs by lag. Sums run over fixed blocks of frames, so that they do not depend on the number of threads.
// SPDX-License-Identifier: MIT
#include "analysis/link/pair_statistics.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace glint {
namespace {

constexpr std::size_t blocks = 32;  // of frames: for the threads, and for jackknife errors
constexpr std::uint32_t nearest_far_lag = 50, max_far_lags = 4, far_lag_step = 37;
constexpr double pair_radius = 6;  // standard deviations; chance of a larger chi squared in two dimensions: 1e-8

/// Returns the index of a frame in `rows.frames`, or the size of `rows.frames` if the frame has no rows.
std::size_t index_of(const LinkRows& rows, std::uint64_t frame) {
    const auto at = std::lower_bound(rows.frames.begin(), rows.frames.end(), frame);
    return at != rows.frames.end() && *at == frame ? std::size_t(at - rows.frames.begin()) : rows.frames.size();
}

/// Calls of(block, index of a frame) for all frames, with blocks in parallel.
template <class Of>
void for_frames(const LinkRows& rows, Of of) {
    const std::size_t n = rows.frames.size();
    tbb::parallel_for(std::size_t{0}, blocks, [&](std::size_t block) {
        for (std::size_t k = n * block / blocks; k < n * (block + 1) / blocks; ++k) of(block, k);
    });
}

std::uint32_t span_of(const LinkRows& rows) {
    return rows.frames.empty() ? 0 : rows.frames.back() - rows.frames.front() + 1;
}

}  // namespace

std::vector<std::uint32_t> far_lags(std::uint32_t frames, std::uint32_t from) {
    std::vector<std::uint32_t> lags;
    const std::uint32_t step = frames > 4 * nearest_far_lag ? far_lag_step : 1;
    const std::uint32_t first =
        frames > 2 * nearest_far_lag ? std::clamp(frames / 10, nearest_far_lag, from) : frames / 2 + 1;
    if (frames < 20) return lags;
    for (std::uint32_t lag = first; lag < frames && lags.size() < max_far_lags; lag += step) lags.push_back(lag);
    return lags;
}

DistanceCounts count_distances(const LinkRows& rows) {
    const std::size_t bins = std::size_t(DistanceCounts::most * DistanceCounts::most / DistanceCounts::bin);
    const auto far = far_lags(span_of(rows), nearest_far_lag);
    std::vector<std::vector<double>> next(blocks, std::vector<double>(bins)), chance = next;
    std::vector<double> frames_with_next(blocks), frames_with_far(blocks);
    for_frames(rows, [&](std::size_t block, std::size_t k) {
        const auto count = [&](std::uint64_t frame, std::vector<double>& into) {
            if (frame > rows.frames.back()) return 0.0;
            if (const std::size_t other = index_of(rows, frame); other < rows.frames.size())
                for_pairs(rows, k, rows, other, DistanceCounts::most, [&](std::size_t, std::size_t, double d2) {
                    into[std::min(bins - 1, std::size_t(d2 / DistanceCounts::bin))] += 1;
                });
            return 1.0;
        };
        frames_with_next[block] += count(std::uint64_t(rows.frames[k]) + 1, next[block]);
        for (const std::uint32_t lag : far)
            frames_with_far[block] += count(std::uint64_t(rows.frames[k]) + lag, chance[block]);
    });
    DistanceCounts out{std::vector<double>(bins), std::vector<double>(bins), false};
    const double of_next = std::reduce(frames_with_next.begin(), frames_with_next.end()),
                 of_far = std::reduce(frames_with_far.begin(), frames_with_far.end());
    out.has_far = of_far > 0;
    for (std::size_t block = 0; block < blocks; ++block)
        for (std::size_t bin = 0; bin < bins; ++bin) {
            out.next[bin] += next[block][bin];
            if (out.has_far) out.far[bin] += chance[block][bin] * of_next / of_far;
        }
    return out;
}

namespace {

/// Sums of pairs whose CRLB (mean of the two) is in one bin.
struct CrlbBin {
    double count = 0, crlb = 0, square = 0;
    void add(double weight, double c, double y) { count += weight, crlb += weight * c, square += weight * y; }
    void add(const CrlbBin& other, double weight) {
        count += weight * other.count, crlb += weight * other.crlb, square += weight * other.square;
    }
};
constexpr std::size_t crlb_bins = 96;
constexpr double crlb_bin_width = 0.1;  // of the natural logarithm, from e^-2 nm^2 on
using CrlbBins = std::array<CrlbBin, crlb_bins>;

std::size_t bin_of(double crlb) {
    return std::size_t(std::clamp((std::log(crlb) + 2) / crlb_bin_width, 0.0, double(crlb_bins - 1)));
}

struct Fit {
    double a = InTrackVariance::unknown, b = InTrackVariance::unknown, b_without_a = InTrackVariance::unknown;
};

/// Fits a line to the means of the bins by weighted least squares. The square of a normal variable of variance v has
/// the variance 2 v^2.
Fit fit_line(const CrlbBins& bins) {
    Fit fit;
    double a = 0, b = 1, b_alone = 1;
    for (int round = 0; round < 20; ++round) {
        double w = 0, wc = 0, wcc = 0, wy = 0, wcy = 0, alone_cc = 0, alone_cy = 0;
        for (const CrlbBin& bin : bins) {
            if (bin.count < 10) continue;
            const double c = bin.crlb / bin.count, y = bin.square / bin.count, v = std::max(a + b * c, 0.05 * c),
                         weight = bin.count / (2 * v * v), alone = bin.count / (2 * b_alone * b_alone * c * c);
            w += weight, wc += weight * c, wcc += weight * c * c, wy += weight * y, wcy += weight * c * y;
            alone_cc += alone * c * c, alone_cy += alone * c * y;
        }
        const double determinant = w * wcc - wc * wc;
        if (!(alone_cc > 0) || !(determinant > 1e-9 * w * wcc)) return fit;
        a = (wcc * wy - wc * wcy) / determinant, b = (w * wcy - wc * wy) / determinant;
        b_alone = alone_cy / alone_cc;
        if (!(b > 0) || !(b_alone > 0)) return fit;
    }
    return {a, b, b_alone};
}

InTrackVariance variance_of(const std::array<CrlbBins, blocks>& of_block) {
    CrlbBins all{};
    for (const CrlbBins& bins : of_block)
        for (std::size_t k = 0; k < crlb_bins; ++k) all[k].add(bins[k], 1);
    InTrackVariance out;
    double pairs = 0;
    for (const CrlbBin& bin : all) pairs += bin.count;
    constexpr double min_pairs = 100;
    if (!(pairs >= min_pairs)) return out;
    out.pairs = std::size_t(pairs);
    const Fit fit = fit_line(all);
    out.a_nm2 = fit.a, out.b = fit.b, out.b_without_a = fit.b_without_a;
    double a_sum = 0, b_sum = 0;  // the jackknife, Efron and Stein, Ann. Stat. 9, 586 (1981)
    for (const CrlbBins& bins : of_block) {
        CrlbBins rest = all;
        for (std::size_t k = 0; k < crlb_bins; ++k) rest[k].add(bins[k], -1);
        const Fit without = fit_line(rest);
        a_sum += (without.a - fit.a) * (without.a - fit.a), b_sum += (without.b - fit.b) * (without.b - fit.b);
    }
    constexpr double jackknife = double(blocks - 1) / double(blocks);
    out.a_error_nm2 = std::sqrt(jackknife * a_sum), out.b_error = std::sqrt(jackknife * b_sum);
    return out;
}

}  // namespace

InTrackVariances in_track_variances(const LinkRows& rows, double scale2) {
    const auto far = far_lags(span_of(rows), nearest_far_lag);
    std::vector<std::array<std::array<CrlbBins, 2>, 2>> sums(blocks);  // [next or far][lateral or axial]
    std::vector<std::array<double, 2>> frames(blocks);
    const double radius = pair_radius * std::sqrt(std::max(scale2, 1.0));
    for_frames(rows, [&](std::size_t block, std::size_t k) {
        const auto add = [&](std::uint64_t frame, std::size_t kind) {
            if (frame > rows.frames.back()) return;
            frames[block][kind] += 1;
            const std::size_t other = index_of(rows, frame);
            if (other == rows.frames.size()) return;
            for_pairs(rows, k, rows, other, radius, [&](std::size_t i, std::size_t j, double) {
                const LinkRow p = rows.at(i), q = rows.at(j);
                const auto axis = [](CrlbBins& bins, double d, double c) { bins[bin_of(c)].add(1, c, d * d / 2); };
                axis(sums[block][kind][0], p.x - q.x, (p.var_x + q.var_x) / 2);
                axis(sums[block][kind][0], p.y - q.y, (p.var_y + q.var_y) / 2);
                if (rows.with_z) axis(sums[block][kind][1], p.z - q.z, (p.var_z + q.var_z) / 2);
            });
        };
        add(std::uint64_t(rows.frames[k]) + 1, 0);
        for (const std::uint32_t lag : far) add(std::uint64_t(rows.frames[k]) + lag, 1);
    });
    double of_next = 0, of_far = 0;
    for (const auto& of : frames) of_next += of[0], of_far += of[1];
    std::array<std::array<CrlbBins, blocks>, 2> net{};
    for (std::size_t block = 0; block < blocks; ++block)
        for (std::size_t axis = 0; axis < 2; ++axis)
            for (std::size_t k = 0; k < crlb_bins; ++k) {
                net[axis][block][k] = sums[block][0][axis][k];
                if (of_far > 0) net[axis][block][k].add(sums[block][1][axis][k], -of_next / of_far);
            }
    InTrackVariances out{variance_of(net[0]), variance_of(net[1])};
    out.lateral.pairs /= 2;  // x and y of the same pairs
    return out;
}

namespace {

constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

/// First and last row of each track, indices into `rows`.
struct TrackEnds {
    std::vector<std::size_t> first, last;
    explicit TrackEnds(std::span<const std::uint32_t> track) {
        const auto most = std::max_element(track.begin(), track.end());
        first.assign(most == track.end() ? 0 : std::size_t(*most) + 1, no_row);
        last = first;
        for (std::size_t i = 0; i < track.size(); ++i) {
            if (first[track[i]] == no_row) first[track[i]] = i;
            last[track[i]] = i;
        }
    }
};

/// Returns the last row of each track, in the order of frames.
MovedRows last_rows(const LinkRows& rows, std::span<const std::uint32_t> track, const TrackEnds& of) {
    MovedRows ends(rows);
    for (std::size_t k = 0; k < rows.frames.size(); ++k) {
        ends.begin.push_back(ends.rows.size());
        for (std::size_t i = rows.begin[k]; i < rows.begin[k + 1]; ++i)
            if (of.last[track[i]] == i) ends.rows.push_back(rows.at(i));
    }
    ends.begin.push_back(ends.rows.size());
    return ends;
}

/// Moves the last row of each track to the weighted mean of its rows, with the variance of the mean.
void move_to_means(MovedRows& ends, const LinkRows& rows, std::span<const std::uint32_t> track, const TrackEnds& of) {
    std::vector<std::uint32_t> end_of(of.last.size());  // by track
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < track.size(); ++i)
        if (of.last[track[i]] == i) end_of[track[i]] = end++;
    for (LinkRow& mean : ends.rows) mean = {0, 0, 0, 0, 0, 0, mean.row};  // variances: sums of weights
    for (std::size_t i = 0; i < track.size(); ++i) {
        const LinkRow row = rows.at(i);
        LinkRow& sum = ends.rows[end_of[track[i]]];
        sum.var_x += 1 / row.var_x, sum.var_y += 1 / row.var_y, sum.var_z += 1 / row.var_z;
        sum.x += row.x / row.var_x, sum.y += row.y / row.var_y, sum.z += row.z / row.var_z;
    }
    for (LinkRow& mean : ends.rows) {
        mean.x /= mean.var_x, mean.y /= mean.var_y, mean.z /= mean.var_z;
        mean.var_x = 1 / mean.var_x, mean.var_y = 1 / mean.var_y, mean.var_z = 1 / mean.var_z;
    }
    for (std::size_t k = 0; k + 1 < ends.begin.size(); ++k)
        std::sort(ends.rows.begin() + std::ptrdiff_t(ends.begin[k]),
                  ends.rows.begin() + std::ptrdiff_t(ends.begin[k + 1]),
                  [](const LinkRow& a, const LinkRow& b) { return std::pair(a.x, a.row) < std::pair(b.x, b.row); });
}

}  // namespace

GapCounts count_gaps(const LinkRows& rows, std::span<const std::uint32_t> track, double radius, std::uint32_t lags,
                     bool is_fixed) {
    const TrackEnds of(track);
    const LinkRows starts(rows, [&](std::size_t i) { return of.first[track[i]] == i; });
    MovedRows ends = last_rows(rows, track, of);
    if (!is_fixed) move_to_means(ends, rows, track, of);
    constexpr std::uint32_t after_long_pauses = 200;  // lag at which a blink no longer resumes
    const auto far = far_lags(span_of(rows), after_long_pauses);
    std::vector<std::vector<double>> counts(blocks, std::vector<double>(lags + 1)), open = counts;
    std::vector<double> chance(blocks), frames_far(blocks), frames_all(blocks), ends_in(blocks);
    for_frames(rows, [&](std::size_t block, std::size_t k) {
        const auto count = [&](std::uint64_t frame) {
            double n = 0;
            if (const std::size_t other = index_of(rows, frame); other < rows.frames.size())
                for_pairs(ends, k, starts, other, radius, [&](std::size_t, std::size_t, double) { ++n; });
            return n;
        };
        // An end continues at the first start near it. Later starts belong to later parts of the blink.
        std::vector<char> goes_on(ends.begin[k + 1] - ends.begin[k], 0);
        ends_in[block] += double(goes_on.size());
        for (std::uint32_t lag = 2; lag <= lags; ++lag) {
            open[block][lag] += double(std::count(goes_on.begin(), goes_on.end(), 0));
            const std::size_t other = index_of(rows, std::uint64_t(rows.frames[k]) + lag);
            if (other == rows.frames.size()) continue;
            for_pairs(ends, k, starts, other, radius, [&](std::size_t i, std::size_t, double) {
                char& before = goes_on[i - ends.begin[k]];
                if (!before) counts[block][lag] += 1;
                before = 1;
            });
        }
        frames_all[block] += 1;
        for (const std::uint32_t lag : far) {
            if (std::uint64_t(rows.frames[k]) + lag > rows.frames.back()) continue;
            chance[block] += count(std::uint64_t(rows.frames[k]) + lag);
            frames_far[block] += 1;
        }
    });
    const std::vector<double> none(lags + 1);
    GapCounts out{none, none, none, 0, 0, false};
    double far_pairs = 0, far_frames = 0, all = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        for (std::uint32_t lag = 2; lag <= lags; ++lag) out.at_lag[lag] += counts[block][lag];
        far_pairs += chance[block], far_frames += frames_far[block], all += frames_all[block];
    }
    out.has_far = far_frames > 0;
    if (out.has_far) out.far = far_pairs * all / far_frames;
    const double all_ends = out.ends = std::reduce(ends_in.begin(), ends_in.end());
    for (std::uint32_t lag = 2; lag <= lags && all_ends > 0; ++lag) {
        for (std::size_t block = 0; block < blocks; ++block) out.open[lag] += open[block][lag];
        out.chance[lag] = out.far * out.open[lag] / all_ends;
    }
    return out;
}

}  // namespace glint
