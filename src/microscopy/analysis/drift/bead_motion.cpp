// Checks whether beads move with the sample, and computes the drift that they show.
// SPDX-License-Identifier: MIT
#include "analysis/drift/bead_motion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/drift/coarse.hpp"
#include "base/median.hpp"

namespace glint::drift {
namespace {

constexpr double vibration_nm = 3;   ///< scatter of rows about the bead's place, beyond their precision
constexpr Vec3 loose_nm{3, 3, 7.5};  ///< a bead that moves more by itself is not used

/// Marks rows within six standard errors of the median of the eleven rows around them.
std::vector<char> near_their_median(const Table& t, const Bead& bead, int axes) {
    constexpr std::size_t around = 5;
    constexpr double gate = 6;
    std::vector<char> good(bead.size(), 1);
    for (std::size_t a = 0; a < std::size_t(axes); ++a)
        for (std::size_t k = 0; k < bead.size(); ++k) {
            std::vector<float> values;
            for (std::size_t j = k < around ? 0 : k - around; j < std::min(bead.size(), k + around + 1); ++j)
                values.push_back(t.nm[a][bead[j]]);
            const double from = t.nm[a][bead[k]] - median(std::move(values));
            if (std::abs(from) > gate * std::hypot(t.precision_nm[a][bead[k]], vibration_nm)) good[k] = 0;
        }
    return good;
}

/// Returns the mean square of the steps between consecutive frames, divided by what the precisions and the sample's
/// jitter predict.
double noise_of_steps(const Seen& seen, double white_nm) {
    double sum = 0, count = 0;
    for (std::size_t f = 1; f < seen.value.size(); ++f) {
        if (!(seen.information[f] > 0 && seen.information[f - 1] > 0)) continue;
        const double step = seen.value[f] - seen.value[f - 1];
        sum += step * step / (1 / seen.information[f] + 1 / seen.information[f - 1] + 2 * white_nm * white_nm);
        ++count;
    }
    return count > 10 ? sum / count : 1;
}

/// Means over windows of frames along one axis, for several tracks (beads and the molecules).
class Windows {
  public:
    Windows(std::size_t frames, std::size_t tracks)
        : width_(std::clamp<std::size_t>(frames / 200, 1, 100)),
          count_((frames + width_ - 1) / width_),
          of_(tracks, {std::vector<double>(count_, 0), std::vector<double>(count_, 0)}) {}
    void add(std::size_t track, const Seen& seen) {
        Seen& to = of_[track];
        for (std::size_t f = 0; f < seen.value.size(); ++f) {
            to.value[f / width_] += seen.value[f] * seen.information[f];
            to.information[f / width_] += seen.information[f];
        }
        for (std::size_t w = 0; w < count_; ++w)
            if (to.information[w] > 0) to.value[w] /= to.information[w];
    }
    /// Shifts each track onto the common motion, since the absolute place of a track is unknown. Returns the common
    /// motion.
    Seen align(const std::vector<char>& in) {
        Seen common;
        constexpr int turns = 8;  // iterations, for tracks that cover only part of the movie
        for (int turn = 0; turn < turns; ++turn) {
            common = sum(in, ~std::size_t(0));
            for (Seen& track : of_) {
                double by = 0, all = 0;
                for (std::size_t w = 0; w < count_; ++w) {
                    const double weight = common.information[w] > 0 ? track.information[w] : 0;
                    by += weight * (track.value[w] - (turn ? common.value[w] : 0)), all += weight;
                }
                for (double& value : track.value) value -= all > 0 ? by / all : 0;
            }
        }
        return sum(in, ~std::size_t(0));
    }
    /// Returns the variance of a track's motion against the others, minus the part that errors explain and minus two
    /// standard errors. Returns nullopt if the track and the others share fewer than five windows.
    std::optional<double> own_motion(const std::vector<char>& in, std::size_t track) const {
        const Seen others = sum(in, track, capped(in, track));
        double by = 0, weights = 0;
        std::vector<std::array<double, 2>> differences;  // each difference and its variance
        for (std::size_t w = 0; w < count_; ++w)
            if (of_[track].information[w] > 0 && others.information[w] > 0) {
                const double variance = 1 / of_[track].information[w] + 1 / others.information[w];
                differences.push_back({of_[track].value[w] - others.value[w], variance});
                by += differences.back()[0] / variance, weights += 1 / variance;
            }
        if (differences.size() < 5) return std::nullopt;
        double own = 0, all = 0;
        for (const auto& [difference, variance] : differences) {
            const double from = difference - by / weights;
            own += (from * from - variance) / (variance * variance), all += 1 / (variance * variance);
        }
        return std::max(0.0, own / all - 2 * std::sqrt(2 / all));
    }
    /// Returns the mean variance of the track's windows.
    double variance(std::size_t track) const {
        double sum = 0, seen = 0;
        for (const double information : of_[track].information)
            if (information > 0) sum += 1 / information, ++seen;
        return seen > 0 ? sum / seen : 0;
    }
    std::size_t width() const { return width_; }
    std::size_t count() const { return count_; }

  private:
    Seen sum(const std::vector<char>& in, std::size_t without, double most = 1e300) const {
        Seen to{std::vector<double>(count_, 0), std::vector<double>(count_, 0)};
        std::vector<double> variance(count_, 0);
        for (std::size_t track = 0; track < of_.size(); ++track)
            for (std::size_t w = 0; w < count_ && in[track] && track != without; ++w) {
                const double information = of_[track].information[w];
                if (!(information > 0)) continue;
                const double weight = std::min(information, most);
                to.value[w] += weight * of_[track].value[w], to.information[w] += weight;
                variance[w] += weight * weight / information;
            }
        for (std::size_t w = 0; w < count_; ++w)
            if (to.information[w] > 0) {
                to.value[w] /= to.information[w];
                to.information[w] = to.information[w] * to.information[w] / variance[w];
            }
        return to;
    }
    /// Returns the second largest weight of the other tracks, as a limit: no single track must outweigh all others.
    double capped(const std::vector<char>& in, std::size_t without) const {
        std::vector<double> weights;
        for (std::size_t track = 0; track < of_.size(); ++track)
            if (in[track] && track != without && variance(track) > 0) weights.push_back(1 / variance(track));
        if (weights.size() < 2) return 1e300;
        std::sort(weights.begin(), weights.end(), std::greater<>());
        return weights[1];
    }
    std::size_t width_, count_;
    std::vector<Seen> of_;
};

bool has_information(const Seen& seen) {
    return std::any_of(seen.information.begin(), seen.information.end(), [](double i) { return i > 0; });
}

/// Returns the mean position with the drift subtracted.
double mean_place(const Seen& seen, const std::vector<double>& drift) {
    double place = 0, all = 0;
    for (std::size_t f = 0; f < drift.size(); ++f)
        place += seen.information[f] * (seen.value[f] - drift[f]), all += seen.information[f];
    return all > 0 ? place / all : 0;
}

Windows windows_of(const std::vector<BeadTrack>& tracks, const Seen& molecules, std::size_t axis) {
    Windows to(tracks[0].seen[axis].value.size(), tracks.size() + 1);
    for (std::size_t k = 0; k < tracks.size(); ++k) to.add(k, tracks[k].seen[axis]);
    if (!molecules.value.empty()) to.add(tracks.size(), molecules);
    return to;
}

}  // namespace

std::vector<BeadTrack> tracks_of(const Table& t, const std::vector<Bead>& beads,
                                 const std::array<double, 3>& white_nm) {
    std::vector<BeadTrack> tracks;
    for (const Bead& bead : beads) {
        BeadTrack& track = tracks.emplace_back();
        const std::vector<char> good = near_their_median(t, bead, t.axes);
        for (std::size_t a = 0; a < std::size_t(t.axes); ++a) {
            Seen& seen = track.seen[a];
            seen.value.assign(std::size_t(t.frames), 0), seen.information = seen.value;
            for (std::size_t k = 0; k < bead.size(); ++k) {
                if (!good[k]) continue;
                const auto f = std::size_t(t.frame[bead[k]]);
                seen.value[f] = t.nm[a][bead[k]];
                seen.information[f] = 1 / (double(t.precision_nm[a][bead[k]]) * t.precision_nm[a][bead[k]]);
            }
            track.place_nm[a] = mean_place(seen, std::vector<double>(seen.value.size(), 0));  // no drift is known yet
            const double noise = std::max(1.0, noise_of_steps(seen, white_nm[a]));
            for (double& information : seen.information) information /= noise;
        }
    }
    return tracks;
}

void judge(std::vector<BeadTrack>& tracks, const std::array<Seen, 3>& molecules, int axes) {
    if (tracks.empty()) return;
    std::vector<Windows> windows;
    for (std::size_t a = 0; a < std::size_t(axes); ++a) windows.push_back(windows_of(tracks, molecules[a], a));
    std::vector<char> in(tracks.size() + 1, 1);  // the last element: molecules
    in.back() = has_information(molecules[0]);
    constexpr double unconfirmed = std::numeric_limits<double>::infinity();
    while (std::count(in.begin(), in.end(), 1) > 1) {
        std::size_t worst = 0;
        double most = 0;
        for (Windows& axis : windows) axis.align(in);
        for (std::size_t k = 0; k < tracks.size(); ++k)
            for (std::size_t a = 0; a < std::size_t(axes); ++a) {
                const std::optional<double> own = windows[a].own_motion(in, k);
                tracks[k].own_nm[a] = std::sqrt(own.value_or(0));
                const double over = own ? tracks[k].own_nm[a] / loose_nm[a] : unconfirmed;
                if (in[k] && over > most) most = over, worst = k;
            }
        if (most <= 1) break;
        in[worst] = 0;
    }
    const bool confirmed = std::count(in.begin(), in.end(), 1) > 1;
    for (std::size_t k = 0; k < tracks.size(); ++k) tracks[k].used = in[k] && confirmed;
}

int used_beads(const std::vector<BeadTrack>& tracks) {
    return int(std::count_if(tracks.begin(), tracks.end(), [](const BeadTrack& track) { return track.used; }));
}

FrameDrift drift_of_beads(const std::vector<BeadTrack>& tracks, int axes) {
    FrameDrift to;
    const std::size_t frames = tracks[0].seen[0].value.size();
    std::vector<char> in;
    for (const BeadTrack& track : tracks) in.push_back(track.used);
    in.push_back(0);
    std::vector<double> at;
    std::vector<Vec3> values;
    for (std::size_t a = 0; a < std::size_t(axes); ++a) {
        Windows windows = windows_of(tracks, {}, a);
        const Seen common = windows.align(in);
        values.resize(windows.count());
        at.resize(windows.count());
        double last = 0;
        for (std::size_t w = 0; w < windows.count(); ++w) {
            if (common.information[w] > 0) last = common.value[w];
            values[w][a] = last;
            at[w] = (double(w) + 0.5) * double(windows.width());
        }
    }
    for (auto& axis : to) axis.assign(frames, 0);
    interpolate(at, values, to, int(frames));
    return to;
}

void add_beads(SeenByHalves& to, std::vector<BeadTrack>& tracks, const std::vector<double>& drift, std::size_t axis) {
    for (std::size_t k = 0; k < tracks.size(); ++k) {
        BeadTrack& track = tracks[k];
        const Windows windows = windows_of({track}, {}, axis);
        const double own = track.own_nm[axis] * track.own_nm[axis], noise = windows.variance(0);
        Seen seen = track.seen[axis];
        track.place_nm[axis] = mean_place(seen, drift);
        if (!track.used || !(noise > 0)) continue;
        for (std::size_t f = 0; f < drift.size(); ++f) {
            seen.value[f] -= track.place_nm[axis];
            seen.information[f] *= noise / (noise + own);
        }
        add_seen(to.all, seen);
        add_seen(to.half[k % 2], seen);
    }
}

}  // namespace glint::drift
