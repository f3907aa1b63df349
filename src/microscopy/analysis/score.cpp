// Scores localizations against ground truth: matching per frame, then recall, precision, errors and distances.
// SPDX-License-Identifier: MIT
#include "glint/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "analysis/axis_errors.hpp"
#include "analysis/minimum_distances.hpp"
#include "analysis/points.hpp"
#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "glint/localizations.hpp"

namespace glint {
namespace {

/// Positions in nm from the sensor's edge. z is 0 unless it is scored.
struct PointsByFrame {
    PointsByFrame(const Localizations& table, bool with_z);

    std::vector<std::size_t> order;  ///< row indices of the table
    std::vector<std::uint32_t> frame;
    std::vector<Point> points;

    /// Returns the end of the rows in the same frame as row `begin`.
    std::size_t frame_end(std::size_t begin) const;
    std::span<const Point> rows(std::size_t begin, std::size_t end) const {
        return std::span(points).subspan(begin, end - begin);
    }
};

PointsByFrame::PointsByFrame(const Localizations& table, bool with_z)
    : order(table.size()), frame(table.size()), points(table.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return table.frame[a] < table.frame[b]; });
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t row = order[k];
        frame[k] = table.frame[row];
        points[k] = {(table.x_px[row] + 0.5) * table.pixel_size_nm, (table.y_px[row] + 0.5) * table.pixel_size_nm,
                     with_z ? table.z_nm[row] : 0};
    }
}

std::size_t PointsByFrame::frame_end(std::size_t begin) const {
    return std::size_t(std::upper_bound(frame.begin() + std::ptrdiff_t(begin), frame.end(), frame[begin]) -
                       frame.begin());
}

// Cost of a nanometre, in per cent (Sage et al., 2019).
constexpr double lateral_alpha = 1, axial_alpha = 0.5;

double share(std::size_t part, std::size_t of) { return of ? double(part) / double(of) : Score::unknown; }

double efficiency(double jaccard, double rmse_nm, double alpha) {
    return 100 - std::hypot(100 * (1 - jaccard), alpha * rmse_nm);
}

/// Matches the frames and accumulates the statistics.
class Scorer {
  public:
    Scorer(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options)
        : table_(localizations) {
        score_.radius_nm = options.radius_nm, score_.axial_radius_nm = options.axial_radius_nm;
        score_.has_z = !localizations.z_nm.empty() && !truth.z_nm.empty();
        score_.truths = truth.size(), score_.localizations = localizations.size();
    }

    Score run(const Localizations& truth) {
        const PointsByFrame found(table_, score_.has_z), real(truth, score_.has_z);
        std::size_t f = 0;
        for (std::size_t t = 0, t_end; t < real.frame.size(); t = t_end) {
            t_end = real.frame_end(t);
            while (f < found.frame.size() && found.frame[f] < real.frame[t]) f = found.frame_end(f);
            const bool both = f < found.frame.size() && found.frame[f] == real.frame[t];
            const std::size_t f_end = both ? found.frame_end(f) : f;
            score_frame(found.rows(f, f_end), real.rows(t, t_end), std::span(found.order).subspan(f, f_end - f));
            f = f_end;
        }
        put_errors();
        put_distances(found.points, distinct(real.points));
        return score_;
    }

  private:
    void score_frame(std::span<const Point> found, std::span<const Point> real, std::span<const std::size_t> row) {
        const double axial_radius_nm = score_.has_z ? score_.axial_radius_nm : 0;
        const std::vector<int> partner =
            assign(pairs_within(real, found, score_.radius_nm, axial_radius_nm), found.size());
        for (std::size_t k = 0; k < partner.size(); ++k)
            if (partner[k] >= 0) add_match(found[partner[k]], real[k], row[partner[k]]);
        add_neighbors(real, partner);
        if (found.empty()) return;
        to_found_.add(real, Nearest(found));
        to_truth_.add(found, Nearest(real));
    }

    void add_match(const Point& found, const Point& real, std::size_t row) {
        const auto precision = [&](const std::vector<float>& column, double nm) {
            return column.empty() ? 0 : column[row] * nm;
        };
        ++score_.matched;
        x_.add(found.x_nm - real.x_nm, precision(table_.lpx_px, table_.pixel_size_nm));
        y_.add(found.y_nm - real.y_nm, precision(table_.lpy_px, table_.pixel_size_nm));
        if (score_.has_z) z_.add(found.z_nm - real.z_nm, precision(table_.lpz_nm, 1));
    }

    /// Adds distances to neighbours in x and y only: the images of molecules above each other overlap.
    void add_neighbors(std::span<const Point> real, const std::vector<int>& partner) {
        std::vector<Point> flat(real.begin(), real.end());
        for (Point& p : flat) p.z_nm = 0;
        const Nearest others(flat);
        for (std::size_t k = 0; k < flat.size(); ++k) {
            const double distance_px = std::sqrt(others.squared(flat[k], k)) / table_.pixel_size_nm;
            auto& bins = score_.recall_by_neighbor;
            NeighborBin& bin = *std::find_if(bins.begin(), bins.end() - 1,
                                             [&](const NeighborBin& b) { return distance_px < b.to_px; });
            ++bin.truths;
            bin.matched += partner[k] >= 0;
        }
    }

    void put_errors() {
        Score& s = score_;
        s.recall = share(s.matched, s.truths);
        s.precision = share(s.matched, s.localizations);
        s.jaccard = share(s.matched, s.truths + s.localizations - s.matched);
        s.rmse_nm = std::sqrt(x_.mean_square_nm2() + y_.mean_square_nm2());
        s.rmse_x_nm = std::sqrt(x_.mean_square_nm2()), s.rmse_y_nm = std::sqrt(y_.mean_square_nm2());
        s.rmse_z_nm = std::sqrt(z_.mean_square_nm2());
        s.bias_x_nm = x_.bias_nm(), s.bias_y_nm = y_.bias_nm(), s.bias_z_nm = z_.bias_nm();
        s.efficiency_lateral = efficiency(s.jaccard, s.rmse_nm, lateral_alpha);
        s.efficiency_axial = efficiency(s.jaccard, s.rmse_z_nm, axial_alpha);
        s.efficiency_3d = 0.5 * (s.efficiency_lateral + s.efficiency_axial);
        s.std_over_crlb_x = x_.std_of_pulls(), s.mad_over_crlb_x = x_.mad_of_pulls();
        s.std_over_crlb_y = y_.std_of_pulls(), s.mad_over_crlb_y = y_.mad_of_pulls();
        s.std_over_crlb_z = z_.std_of_pulls(), s.mad_over_crlb_z = z_.mad_of_pulls();
    }

    void put_distances(std::span<const Point> found, const std::vector<Point>& emitters) {
        Score& s = score_;
        s.rmsmd_nm = MinimumDistances::of_both(to_found_, to_truth_);
        s.rmsmd_truths_nm = to_found_.root_mean_square();
        s.rmsmd_localizations_nm = to_truth_.root_mean_square();
        MinimumDistances of_emitters, of_found;
        of_emitters.add(emitters, Nearest(found));
        of_found.add(found, Nearest(emitters));
        s.emitters = emitters.size();
        s.rmsmd_map_nm = MinimumDistances::of_both(of_emitters, of_found);
        s.rmsmd_map_emitters_nm = of_emitters.root_mean_square();
        s.rmsmd_map_localizations_nm = of_found.root_mean_square();
    }

    const Localizations& table_;
    Score score_;
    AxisErrors x_, y_, z_;
    MinimumDistances to_found_, to_truth_;
};

void require(const Localizations& table, const std::string& which) {
    if (!(table.pixel_size_nm > 0 && std::isfinite(table.pixel_size_nm)))
        throw OptionError(fmt::format("{}: no pixel size, but distances are in nm: `written_pixel_size=100nm`", which));
    const auto check = [&](const char* name, const std::vector<float>& column, bool optional) {
        if (column.size() != table.size() && !(optional && column.empty()))
            throw OptionError(
                fmt::format("{}: {} frames, but {} values of {}", which, table.size(), column.size(), name));
    };
    check("x", table.x_px, false), check("y", table.y_px, false), check("z", table.z_nm, true);
    check("lpx", table.lpx_px, true), check("lpy", table.lpy_px, true), check("lpz", table.lpz_nm, true);
}

void require_one_pixel_size(const Localizations& localizations, const Localizations& truth,
                            const ScoreOptions& options) {
    if (are_same_pixels(localizations.pixel_size_nm, truth.pixel_size_nm)) return;
    throw OptionError(
        fmt::format("{} has pixels of {:g} nm and {} of {:g} nm, so the same position in pixels differs in nm. "
                    "Localize again with the right `pixel_size`, or correct the last `Pixelsize` in the .yaml file "
                    "beside the wrong table. If both are right, convert the truth to nm with `glint convert`: -o "
                    "truth.csv",
                    options.localizations_name, localizations.pixel_size_nm, options.truth_name, truth.pixel_size_nm));
}

}  // namespace

Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options) {
    require(localizations, options.localizations_name);
    require(truth, options.truth_name);
    require_one_pixel_size(localizations, truth, options);
    if (!(options.radius_nm > 0 && std::isfinite(options.radius_nm)))
        throw OptionError(fmt::format("a matching radius of {} nm: give it as in `radius=100nm`", options.radius_nm));
    if (!(options.axial_radius_nm >= 0 && std::isfinite(options.axial_radius_nm)))
        throw OptionError(
            fmt::format("an axial matching radius of {} nm: give it as in `axial_radius=500nm`, or 0 for none",
                        options.axial_radius_nm));
    return Scorer(localizations, truth, options).run(truth);
}

std::string order_warning(const Localizations& localizations, const Localizations& truth) {
    if (truth.lpx_px.empty() || !localizations.lpx_px.empty() || localizations.size() == 0) return "";
    return "the truth contains precisions, as localizations do, but the localizations contain none: are the two "
           "swapped? The localizations come first, the truth second";
}

std::string frames_warning(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options,
                           double recall) {
    constexpr double looks_below = 0.9, more_by = 0.1, more_times = 1.2;
    if (!(recall < looks_below)) return "";
    for (const int by : {-1, 1}) {
        Localizations shifted = localizations;
        for (std::uint32_t& frame : shifted.frame) frame += std::uint32_t(by);  // frame 0 wraps around
        const double then = score(shifted, truth, options).recall;
        if (then > recall + more_by && then > more_times * recall)
            return fmt::format(
                "with all frames of the localizations {}, {:.0f} % of the truth would be found instead of {:.0f} %: "
                "does one of the tables count frames from 0 and the other from 1?",
                by < 0 ? "1 less" : "1 greater", 100 * then, 100 * recall);
    }
    return "";
}

}  // namespace glint
