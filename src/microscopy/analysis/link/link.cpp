// Chooses radius and gap, and assigns tracks to rows, frame by frame.
// SPDX-License-Identifier: MIT
#include "glint/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/link/pair_statistics.hpp"
#include "analysis/link/rows.hpp"
#include "analysis/points.hpp"
#include "analysis/require_table.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::uint32_t longest_gap = 20;           // longest gap that is tried
constexpr double min_radius = 2.5, max_radius = 5;  // limits of the choice, in true standard deviations
constexpr double default_radius = 4;                // if the data do not determine it
constexpr double min_true_pairs = 50;               // minimum for a choice from the data

/// Survival function and density of chi squared with 2 or 3 degrees of freedom.
double chi2_above(double x, int dims) {
    if (dims == 2) return std::exp(-x / 2);
    return std::erfc(std::sqrt(x / 2)) + std::sqrt(2 * x / M_PI) * std::exp(-x / 2);
}
double chi2_density(double x, int dims) {
    return dims == 2 ? std::exp(-x / 2) / 2 : std::sqrt(x / (2 * M_PI)) * std::exp(-x / 2);
}
constexpr double chi2_median[] = {0, 0.4549, 1.3863, 2.3660};

/// Statistics of distances in consecutive frames: the number of pairs that are one blink, and the factor between
/// squared distances and what precisions predict.
struct Scatter {
    double true_pairs = 0, scale2 = 1;
    bool is_known = false;
};

Scatter scatter_of(const DistanceCounts& counts, int dims) {
    double total = 0;
    for (std::size_t bin = 0; bin < counts.next.size(); ++bin) total += counts.next[bin] - counts.far[bin];
    if (!(total >= min_true_pairs)) return {std::max(total, 0.0), 1, false};
    double sum = 0;
    for (std::size_t bin = 0; bin < counts.next.size(); ++bin) {
        const double more = counts.next[bin] - counts.far[bin];
        if (sum + more >= total / 2) {
            const double at = (double(bin) + (total / 2 - sum) / more) * DistanceCounts::bin;
            return {total, at / chi2_median[dims], true};
        }
        sum += more;
    }
    return {total, 1, false};
}

/// Returns the radius at which a link is as likely wrong as right (eq. 13.2). A row is linked wrongly only by a track
/// that ends before it, and only if the row begins a track. Chance pairs therefore count with the squared share of rows
/// that end a track.
double best_radius(const DistanceCounts& counts, const Scatter& scatter, std::size_t rows, int dims) {
    const double ends = std::clamp(1 - scatter.true_pairs / double(std::max<std::size_t>(rows, 1)), 0.02, 1.0);
    const double scale = std::sqrt(scatter.scale2);
    for (double radius = min_radius; radius < max_radius; radius += 0.05) {
        const double d2 = radius * radius * scatter.scale2;
        const std::size_t bin = std::min(counts.far.size() - 1, std::size_t(d2 / DistanceCounts::bin));
        // The smoothed density of chance pairs. In two dimensions it is the same at all squared distances, in three it
        // grows with the distance.
        const double near = std::accumulate(counts.far.begin(), counts.far.begin() + std::ptrdiff_t(bin) + 1, 0.0) /
                            (double(bin + 1) * DistanceCounts::bin) * (dims == 3 ? 1.5 : 1);
        if (scatter.true_pairs * chi2_density(radius * radius, dims) / scatter.scale2 < near * ends * ends)
            return radius * scale;
    }
    return max_radius * scale;
}

/// Expected numbers of links that should go to another candidate. `taken`: one track or one row is then left over.
/// `exchanged`: two tracks got each other's rows.
struct Doubts {
    double taken = 0, exchanged = 0;
};

/// Assigns the rows of each frame to open tracks. Both are sorted by x.
class Linker {
  public:
    /// `goes_on`: logarithms of the odds that a track continues, by the frames since its last row; [0] unused.
    Linker(const LinkRows& rows, double radius, double scale2, bool is_fixed, std::vector<double> goes_on)
        : rows_(rows),
          radius_(radius),
          scale2_(scale2),
          is_fixed_(is_fixed),
          gap_(std::uint32_t(goes_on.size() - 2)),
          goes_on_(std::move(goes_on)),
          track_(rows.size()) {}

    /// Returns the track of each row of `rows`. Throws Cancelled after `stop`.
    std::vector<std::uint32_t> run(const Progress& progress, const StopFlag* stop) {
        for (std::size_t k = 0; k < rows_.frames.size(); ++k) {
            if (k % 256 == 0) {
                if (stop && *stop) throw Cancelled("linking was stopped");
                if (progress) progress(std::int64_t(k), std::int64_t(rows_.frames.size()), std::int64_t(tracks_));
            }
            frame(k);
        }
        return std::move(track_);
    }
    std::size_t tracks() const { return tracks_; }
    const Doubts& doubts() const { return doubts_; }

  private:
    struct Track {
        LinkRow mean;  ///< weighted mean, with its variances
        std::uint32_t number, last;
    };
    struct Pair {
        int track, row;  ///< indices in open_, and in the frame
        double d2;
    };

    void frame(std::size_t k) {
        const std::uint32_t now = rows_.frames[k];
        std::erase_if(open_, [&](const Track& track) { return now - track.last > gap_ + 1; });
        const std::size_t begin = rows_.begin[k], count = rows_.begin[k + 1] - begin;
        find_pairs(begin, count, rows_.max_var_x[k]);
        of_row_.assign(count, -1);
        match(begin, count, now);
        for (std::size_t j = 0; j < count; ++j) {
            const LinkRow row = rows_.at(begin + j);
            if (of_row_[j] < 0) {
                track_[begin + j] = std::uint32_t(tracks_);
                open_.push_back({row, std::uint32_t(tracks_++), now});
            } else {
                Track& track = open_[std::size_t(of_row_[j])];
                track_[begin + j] = track.number;
                add(track, row, now);
            }
        }
        std::sort(open_.begin(), open_.end(), [](const Track& a, const Track& b) {
            return std::pair(a.mean.x, a.number) < std::pair(b.mean.x, b.number);
        });
    }

    void find_pairs(std::size_t begin, std::size_t count, double max_row_var) {
        pairs_.clear();
        double max_track_var = 0;
        for (const Track& track : open_) max_track_var = std::max(max_track_var, track.mean.var_x);
        const double reach = radius_ * std::sqrt(max_row_var + max_track_var);
        std::size_t low = 0;
        for (std::size_t j = 0; j < count; ++j) {
            const LinkRow row = rows_.at(begin + j);
            const double own = radius_ * std::sqrt(row.var_x + max_track_var);
            while (low < open_.size() && open_[low].mean.x < row.x - reach) ++low;
            for (std::size_t t = low; t < open_.size() && open_[t].mean.x <= row.x + own; ++t)
                if (const double d2 = scaled_distance2(row, open_[t].mean, rows_.with_z); d2 <= radius_ * radius_)
                    pairs_.push_back({int(t), int(j), d2});
        }
    }

    /// Links pairs whose track and row have no other candidate: the majority. The others go to the assignment.
    void match(std::size_t begin, std::size_t count, std::uint32_t now) {
        choices_of_track_.assign(open_.size(), 0), choices_of_row_.assign(count, 0);
        for (const Pair& pair : pairs_)
            ++choices_of_track_[std::size_t(pair.track)], ++choices_of_row_[std::size_t(pair.row)];
        Candidates rest;
        rows_of_rest_.clear(), tracks_of_rest_.clear();
        number_of_track_.assign(open_.size(), -1);
        int row = -1;
        for (const Pair& pair : pairs_) {  // in the order of rows
            if (choices_of_track_[std::size_t(pair.track)] == 1 && choices_of_row_[std::size_t(pair.row)] == 1) {
                of_row_[std::size_t(pair.row)] = pair.track;
                continue;
            }
            if (pair.row != row) rows_of_rest_.push_back(row = pair.row), rest.row_begin.push_back(rest.column.size());
            int& number = number_of_track_[std::size_t(pair.track)];
            if (number < 0) number = int(tracks_of_rest_.size()), tracks_of_rest_.push_back(pair.track);
            rest.column.push_back(number), rest.cost.push_back(pair.d2);
        }
        if (rest.column.empty()) return;
        rest.row_begin.push_back(rest.column.size());
        const std::vector<int> assigned = assign(rest, tracks_of_rest_.size());
        for (std::size_t r = 0; r < assigned.size(); ++r)
            if (assigned[r] >= 0) of_row_[std::size_t(rows_of_rest_[r])] = tracks_of_rest_[std::size_t(assigned[r])];
        count_doubts(begin, now);
    }

    /// Adds the probabilities that pairs that were not linked are the right ones, from the likelihoods of both choices.
    void count_doubts(std::size_t begin, std::uint32_t now) {
        row_of_track_.assign(open_.size(), -1);
        for (std::size_t j = 0; j < of_row_.size(); ++j)
            if (of_row_[j] >= 0) row_of_track_[std::size_t(of_row_[j])] = int(j);
        const auto distance = [&](int track, int row) {
            return scaled_distance2(open_[std::size_t(track)].mean, rows_.at(begin + std::size_t(row)), rows_.with_z);
        };
        const auto odds = [&](int track) { return goes_on_[now - open_[std::size_t(track)].last]; };
        for (const Pair& pair : pairs_) {
            const int taken_track = of_row_[std::size_t(pair.row)], taken_row = row_of_track_[std::size_t(pair.track)];
            if (taken_track == pair.track) continue;
            double more = pair.d2;  // additional cost of the other choice
            if (taken_track >= 0) more -= distance(taken_track, pair.row);
            if (taken_row >= 0) more -= distance(pair.track, taken_row);
            const bool is_exchange = taken_track >= 0 && taken_row >= 0;
            const double other = is_exchange ? distance(taken_track, taken_row) : 0;
            more = (more + other) / (2 * scale2_);
            if (!is_exchange && taken_track >= 0) more += odds(taken_track) - odds(pair.track);
            const double chance = 1 / (1 + std::exp(std::clamp(more, -50.0, 50.0)));
            if (!is_exchange)
                doubts_.taken += chance;
            else  // visited twice if both of its pairs are within the radius
                doubts_.exchanged += other <= radius_ * radius_ ? chance : 2 * chance;
        }
    }

    void add(Track& track, const LinkRow& row, std::uint32_t now) const {
        const auto axis = [&](double& mean, double& var, double x, double x_var) {
            if (is_fixed_) {  // a radius in nm is measured from the last row
                mean = x;
                return;
            }
            const double sum = var + x_var;
            mean = (mean * x_var + x * var) / sum, var = var * x_var / sum;
        };
        axis(track.mean.x, track.mean.var_x, row.x, row.var_x);
        axis(track.mean.y, track.mean.var_y, row.y, row.var_y);
        axis(track.mean.z, track.mean.var_z, row.z, row.var_z);
        track.last = now;
    }

    const LinkRows& rows_;
    double radius_, scale2_;
    bool is_fixed_;
    std::uint32_t gap_;
    std::vector<double> goes_on_;
    std::vector<std::uint32_t> track_;
    std::size_t tracks_ = 0;
    Doubts doubts_;
    std::vector<Track> open_;  // sorted by x
    std::vector<Pair> pairs_;
    std::vector<int> of_row_, choices_of_track_, choices_of_row_, number_of_track_, row_of_track_, rows_of_rest_,
        tracks_of_rest_;
};

void check(const Localizations& table, const LinkOptions& options) {
    if (table.pixel_size_nm <= 0) throw OptionError("linking needs the pixel size, which the table does not contain");
    if (options.radius_sigma < 0 || options.radius_nm < 0 || !std::isfinite(options.radius_sigma + options.radius_nm))
        throw OptionError(fmt::format("the linking radius is {:g}; it must be above 0",
                                      options.radius_nm != 0 ? options.radius_nm : options.radius_sigma));
    constexpr double min_nm = 1e-3, max_nm = 1e9, max_sigma = 1e6;
    if ((options.radius_nm > 0 && options.radius_nm < min_nm) || options.radius_nm > max_nm ||
        options.radius_sigma > max_sigma)
        throw OptionError(fmt::format("a radius of {:g} {}: give {:g} to {:g} nm, or at most {:g} standard deviations",
                                      options.radius_nm > 0 ? options.radius_nm : options.radius_sigma,
                                      options.radius_nm > 0 ? "nm" : "standard deviations", min_nm, max_nm, max_sigma));
    if (options.radius_sigma > 0 && options.radius_nm > 0)
        throw OptionError("give the linking radius in standard deviations or in nm, not both");
    if (options.gap < LinkOptions::auto_gap)
        throw OptionError(fmt::format("the linking gap is {} frames; it must be 0 or more", options.gap));
}

/// Returns the largest number of dark frames after which more pairs are one blink than are chance (eq. 13.3).
int best_gap(const GapCounts& counts) {
    int gap = 0;
    for (std::size_t lag = 2; lag < counts.at_lag.size(); ++lag) {
        const double n = counts.at_lag[lag];
        const double chance = counts.chance[lag];
        if (n < 2 * chance || n - chance <= 3 * std::sqrt(n + chance)) break;  // also if there are no pairs
        gap = int(lag) - 1;
    }
    return gap;
}

/// Returns the logarithms of the odds that a track continues, by the number of frames since its last row. [0] is not
/// used; the last element is for `gap` + 1 frames.
std::vector<double> odds_of_going_on(const GapCounts& counts, int gap, double rows) {
    const auto log_odds = [](double share) {
        const double within = std::clamp(share, 1e-4, 1 - 1e-4);
        return std::log(within / (1 - within));
    };
    std::vector<double> odds(std::size_t(gap) + 2, 0.0);
    odds[1] = log_odds(rows > 0 ? 1 - counts.ends / rows : 0.5);
    for (std::size_t lag = 2; lag < odds.size() && lag < counts.at_lag.size(); ++lag)
        odds[lag] = log_odds(counts.open[lag] > 0 ? (counts.at_lag[lag] - counts.chance[lag]) / counts.open[lag] : 0);
    for (std::size_t lag = counts.at_lag.size(); lag < odds.size(); ++lag) odds[lag] = odds[lag - 1];
    return odds;
}

/// Returns the number of links over more dark frames than `gap`: counted links at lags that exceed chance, plus an
/// extrapolation of their decrease. `links` is the number of links without gaps.
double longer_links(const GapCounts& counts, int gap, double links) {
    const auto last = std::size_t(best_gap(counts)) + 1;  // a lag of 1 is no gap
    const auto pairs = [&](std::size_t from, std::size_t to) {
        double sum = 0;
        for (std::size_t lag = from; lag <= to; ++lag)
            sum += lag == 1 ? links : counts.at_lag[lag] - counts.chance[lag];
        return sum;
    };
    if (last < 2) return 0;
    const std::size_t next = std::size_t(gap) + 2;
    const auto longer = [&](std::size_t span) {
        const double end = pairs(last - span + 1, last), before = pairs(last - 2 * span + 1, last - span);
        constexpr double steepest = 0.95;  // a slower decrease cannot be extrapolated
        const double ratio = std::clamp(end / before, 0.0, steepest), tail = end * ratio / (1 - ratio);
        if (next > last) return tail * std::pow(ratio, double(next - last - 1) / double(span));
        return pairs(next, last) + tail;
    };
    // Estimates with and without the lag of 1, and uses the larger one. A sum of geometric series falls more slowly the
    // later it is. How often blinks pause does not determine how long they pause.
    constexpr std::size_t longest_span = 5;
    return std::max(longer(std::clamp<std::size_t>(last / 2, 1, longest_span)),
                    longer(std::clamp<std::size_t>((last - 1) / 2, 1, longest_span)));
}

/// Expected numbers of wrong and of missed links.
struct Mistakes {
    double wrong = 0, missed = 0;
};

/// `counts` are those without gaps. `beyond_radius`: links that the radius excludes.
Mistakes expected_mistakes(const GapCounts& counts, int gap, const Doubts& doubts, double beyond_radius, double links,
                           double rows) {
    double resumed = 0, dark = 0;
    for (std::size_t lag = 2; lag < std::min(counts.at_lag.size(), std::size_t(gap) + 2); ++lag) {
        const double pairs = counts.at_lag[lag] - counts.chance[lag];
        resumed += pairs, dark += double(lag - 1) * pairs;
    }
    const double longer = longer_links(counts, gap, rows - counts.ends);
    // The share of ends that remain ends once gaps are linked. Only their links are chance.
    const double final = counts.ends > 0 ? std::clamp(1 - resumed / counts.ends, 0.0, 1.0) : 1;
    // Blinks that begin in a dark frame of another blink and are taken for it.
    const double in_the_dark = counts.ends > 0 ? counts.far * final * std::max(dark, 0.0) / counts.ends : 0;
    // A row in the track of another blink has a wrong link before it. If the track continues, it has another one after
    // it.
    const double of_row = 1 + (rows > 0 ? links / rows : 0);
    const double mixed = doubts.taken + of_row * doubts.exchanged;
    // A row beyond the radius also counts twice if gaps let its track continue without it.
    return {mixed + counts.far * final * final * (gap + 1) + in_the_dark,
            mixed + (gap > 0 ? of_row : 1) * beyond_radius + longer + in_the_dark};
}

/// Returns the radius in nm for the median precision.
double median_radius_nm(const LinkRows& rows, double radius) {
    if (rows.size() == 0) return 0;
    std::vector<double> sigma;
    sigma.reserve(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const LinkRow row = rows.at(k);
        sigma.push_back(std::sqrt(row.var_x + row.var_y));  // sqrt(2) of the mean variance
    }
    return radius * median(std::move(sigma));
}

}  // namespace

Links link(const Localizations& table, const LinkOptions& options) {
    check(table, options);
    require_whole_frames(table, "linking");
    const bool is_fixed = options.radius_nm > 0;
    const LinkRows rows(table, options.radius_nm);
    if (options.stop && *options.stop) throw Cancelled("linking was stopped");
    if (rows.size() == 0 && table.size() > 0)
        throw InputError(
            fmt::format("none of the {} rows has a finite position and precisions above 0, so nothing can "
                        "be linked; a radius in nm (`radius=30nm`) needs no precisions",
                        table.size()));
    Links out;
    out.unlinkable = table.size() - rows.size();
    out.uses_z = rows.with_z;
    const DistanceCounts distances = is_fixed ? DistanceCounts{} : count_distances(rows);
    const Scatter scatter = is_fixed ? Scatter{} : scatter_of(distances, rows.dims());
    out.is_radius_chosen = !is_fixed && options.radius_sigma == 0;
    double radius = is_fixed ? 1 : options.radius_sigma;
    if (out.is_radius_chosen)
        radius = scatter.is_known && distances.has_far ? best_radius(distances, scatter, rows.size(), rows.dims())
                                                       : default_radius;
    out.radius_sigma = is_fixed ? 0 : radius;
    out.radius_nm = is_fixed ? options.radius_nm : median_radius_nm(rows, radius);

    Doubts doubts;
    const auto linked = [&](std::vector<double> odds) {
        Linker linker(rows, radius, scatter.scale2, is_fixed, std::move(odds));
        std::vector<std::uint32_t> track = linker.run(options.progress, options.stop);
        out.tracks = linker.tracks(), doubts = linker.doubts();
        return track;
    };
    out.is_gap_chosen = options.gap == LinkOptions::auto_gap;
    std::vector<std::uint32_t> track = linked({0, 0});
    const GapCounts gaps = count_gaps(rows, track, radius, longest_gap + 1, is_fixed);
    out.gap = out.is_gap_chosen ? (gaps.has_far ? best_gap(gaps) : 0) : options.gap;
    if (out.gap > 0) track = linked(odds_of_going_on(gaps, out.gap, double(rows.size())));

    const double unknown = std::numeric_limits<double>::quiet_NaN();
    out.links = rows.size() - out.tracks;
    const double beyond_radius = scatter.true_pairs * chi2_above(radius * radius / scatter.scale2, rows.dims());
    const Mistakes mistakes =
        expected_mistakes(gaps, out.gap, doubts, is_fixed ? 0 : beyond_radius, double(out.links), double(rows.size()));
    out.false_links = gaps.has_far ? std::min(mistakes.wrong, double(out.links)) : unknown;
    out.missed_links = gaps.has_far && !is_fixed ? mistakes.missed : unknown;
    if (!is_fixed) {
        const InTrackVariances variances = in_track_variances(rows, scatter.scale2);
        out.lateral = variances.lateral, out.axial = variances.axial;
    }
    // Rows that could not be linked are tracks of their own, after the others.
    out.track.assign(table.size(), std::uint32_t(-1));
    for (std::size_t k = 0; k < rows.size(); ++k) out.track[rows.rows[k]] = track[k];
    for (std::uint32_t& number : out.track)
        if (number == std::uint32_t(-1)) number = std::uint32_t(out.tracks++);
    return out;
}

std::string chance_warning(const Links& links) {
    constexpr double much = 0.1;
    const double share = links.false_links / double(links.links);  // NaN without links, or if false_links is unknown
    return share > much ? fmt::format("{:.0f} % of the links are expected to be chance", 100 * share) : "";
}

}  // namespace glint
