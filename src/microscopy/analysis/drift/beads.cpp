// Finds fiducial beads. They are visible in nearly every frame, so that each frame shows the drift directly.
// SPDX-License-Identifier: MIT
#include "analysis/drift/bead_motion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"

namespace glint::drift {
namespace {

constexpr double found_in = 0.8, given_in = 0.2;  ///< minimum share of the frames that show a bead
constexpr double around_bead_nm = 250;            ///< nearer spots disturb each other and move together

/// Returns the first row of each frame: the rows of frame f are begin[f] to begin[f + 1].
std::vector<std::uint32_t> frame_begins(const Table& t) {
    std::vector<std::uint32_t> begin(std::size_t(t.frames) + 1, 0);
    for (const int f : t.frame) ++begin[std::size_t(f) + 1];
    for (std::size_t f = 0; f < std::size_t(t.frames); ++f) begin[f + 1] += begin[f];
    return begin;
}

double distance(const Table& t, std::uint32_t row, const std::array<double, 2>& to) {
    return std::hypot(t.nm[0][row] - to[0], t.nm[1][row] - to[1]);
}

/// Follows the spot of one row through the frames, forwards and backwards.
class Trail {
  public:
    Trail(const Table& t, const std::vector<std::uint32_t>& begin, std::uint32_t seed, double seen_in)
        : table_(t), begin_(begin), max_missed_(1 - seen_in) {
        follow(seed, -1);
        std::reverse(bead.begin(), bead.end());
        bead.push_back(seed);
        follow(seed, 1);
    }
    Bead bead;
    /// Returns the mean squared distance from the previous place per axis, divided by what the precisions and 3 nm of
    /// vibration predict.
    double spread() const { return bead.size() > 1 ? squares_ / double(bead.size() - 1) : 1; }
    /// Returns the number of rows that are farther from the previous place than noise explains.
    int hops() const { return hops_; }

  private:
    void follow(std::uint32_t seed, int direction) {
        constexpr double vibration_nm = 3, gate = 5.5, drift_nm = 10, farthest_nm = 500, newest_share = 0.2;
        constexpr int missed_at_once = 20;
        std::array<double, 2> place{table_.nm[0][seed], table_.nm[1][seed]};
        int missed = 0, all_missed = 0, followed = 0;
        for (int f = table_.frame[seed] + direction; f >= 0 && f < table_.frames; f += direction) {
            std::uint32_t nearest = 0;
            double least = farthest_nm;
            for (std::uint32_t row = begin_[std::size_t(f)]; row < begin_[std::size_t(f) + 1]; ++row)
                if (const double d = distance(table_, row, place); d < least) least = d, nearest = row;
            ++followed;
            const bool is_seen = least < farthest_nm;
            const double noise = is_seen ? std::hypot(noise_of(nearest), vibration_nm) : 0;
            if (!is_seen || !(least < gate * noise + drift_nm * missed)) {
                ++missed;
                if (++all_missed > missed_at_once + max_missed_ * followed) return;
                continue;
            }
            const bool hop = least > gate * noise;
            hops_ += hop;
            if (!hop) squares_ += 0.5 * least * least / ((1 + newest_share / 2) * noise * noise);
            const double part = hop ? 1 : newest_share;
            for (std::size_t a : {0u, 1u}) place[a] += part * (table_.nm[a][nearest] - place[a]);
            bead.push_back(nearest);
            missed = 0;
        }
    }
    double noise_of(std::uint32_t row) const {
        return std::sqrt(0.5) * std::hypot(table_.precision_nm[0][row], table_.precision_nm[1][row]);
    }
    const Table& table_;
    const std::vector<std::uint32_t>& begin_;
    double max_missed_, squares_ = 0;
    int hops_ = 0;
};

/// Returns whether two trails follow one bead, for example if one of them starts after a jump or at an outlier. Such
/// trails share rows and would confirm each other.
bool are_one_bead(const Table& t, const Bead& a, const Bead& b) {
    constexpr double max_frames_together = 0.05;  // of the frames
    std::size_t together = 0;
    for (auto in_a = a.begin(), in_b = b.begin(); in_a != a.end() && in_b != b.end();) {
        const int frame_a = t.frame[*in_a], frame_b = t.frame[*in_b];
        if (frame_a == frame_b) together += distance(t, *in_a, {t.nm[0][*in_b], t.nm[1][*in_b]}) < around_bead_nm;
        if (frame_a <= frame_b) ++in_a;
        if (frame_b <= frame_a) ++in_b;
    }
    return double(together) > max_frames_together * double(std::min(a.size(), b.size()));
}

bool is_known(const std::vector<Bead>& beads, const Table& t, const Bead& bead) {
    return std::any_of(beads.begin(), beads.end(), [&](const Bead& other) { return are_one_bead(t, other, bead); });
}

}  // namespace

std::vector<Bead> find_beads(const Table& t) {
    constexpr int looks = 5;
    constexpr double max_hops = 0.01, max_spread = 2.5;  // hops per frame; molecules that alternate spread more
    const std::vector<std::uint32_t> begin = frame_begins(t);
    std::vector<char> taken(t.size(), 0);
    struct Found {
        Bead bead;
        int hops;
    };
    std::vector<Found> found;
    if (t.frames < 2) return {};
    for (int look = 1; look <= looks; ++look) {
        const auto f = std::size_t(std::int64_t(t.frames) * look / (looks + 1));
        if (f >= std::size_t(t.frames)) continue;
        for (std::uint32_t row = begin[f]; row < begin[f + 1]; ++row) {
            if (taken[row]) continue;
            Trail trail(t, begin, row, found_in);
            if (double(trail.bead.size()) < found_in * t.frames || trail.hops() > 2 + max_hops * t.frames ||
                trail.spread() > max_spread)
                continue;
            for (const std::uint32_t of : trail.bead) taken[of] = 1;
            found.push_back({std::move(trail.bead), trail.hops()});
        }
    }
    // Trails with few hops come first: a trail that hops from one bead to another must not exclude both.
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.hops < b.hops; });
    std::vector<Bead> beads;
    for (Found& one : found)
        if (!is_known(beads, t, one.bead)) beads.push_back(std::move(one.bead));
    return beads;
}

std::vector<Bead> beads_at(const Table& t, std::span<const std::array<double, 2>> places_nm, const Warn& warn) {
    constexpr double reach_nm = 1000;
    const std::vector<std::uint32_t> begin = frame_begins(t);
    std::vector<Bead> beads;
    for (const auto& place : places_nm) {
        Bead best;
        const auto tell = [&](const std::string& what) {
            throw InputError(fmt::format(
                "drift: a bead is given at x {:.6g}, y {:.6g} nm, but {}. Give the places of beads in camera pixels, "
                "in the coordinates of the table",
                place[0], place[1], what));
        };
        // The nearest row may belong to a molecule. The bead has the longest of the trails from several parts of the
        // movie.
        constexpr std::size_t parts = 8;
        for (std::size_t part = 0; part < parts; ++part) {
            std::uint32_t nearest = 0;
            double least = reach_nm;
            for (std::size_t row = part * t.size() / parts; row < (part + 1) * t.size() / parts; ++row)
                if (const double d = distance(t, std::uint32_t(row), place); d < least)
                    least = d, nearest = std::uint32_t(row);
            if (least == reach_nm) continue;
            Trail trail(t, begin, nearest, given_in);
            if (trail.bead.size() > best.size()) best = std::move(trail.bead);
        }
        if (best.empty()) tell("no row is within 1 um of it");
        if (double(best.size()) < given_in * t.frames)
            tell(
                fmt::format("the nearest spot is seen in {} of {} frames, but a bead must be seen in at least {:.0f} %",
                            best.size(), t.frames, 100 * given_in));
        const auto away = [&](std::uint32_t row) { return distance(t, row, place); };
        const std::uint32_t closest = *std::min_element(
            best.begin(), best.end(), [&](std::uint32_t a, std::uint32_t b) { return away(a) < away(b); });
        if (warn && away(closest) > around_bead_nm)
            warn(fmt::format(
                "no bead is at x {:.6g}, y {:.6g} nm as given: the bead at x {:.6g}, y {:.6g} nm, {:.0f} nm away, "
                "is used instead",
                place[0], place[1], t.nm[0][closest], t.nm[1][closest], away(closest)));
        if (!is_known(beads, t, best)) beads.push_back(std::move(best));  // ignore a bead that is given twice
    }
    return beads;
}

Table without_beads(const Table& t, const std::vector<Bead>& beads) {
    std::vector<char> keep(t.size(), 1);
    const std::vector<std::uint32_t> begin = frame_begins(t);
    for (const Bead& bead : beads)
        for (const std::uint32_t row : bead) {
            const std::array<double, 2> place{t.nm[0][row], t.nm[1][row]};
            const auto f = std::size_t(t.frame[row]);
            for (std::uint32_t other = begin[f]; other < begin[f + 1]; ++other)
                if (distance(t, other, place) < around_bead_nm) keep[other] = 0;
        }
    return rows_of(t, keep);
}

}  // namespace glint::drift
