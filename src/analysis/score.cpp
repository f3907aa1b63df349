// Scores localizations against ground truth: matching per frame, then recall, precision and errors.
// SPDX-License-Identifier: MIT
#include "glint/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "analysis/matching.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

/// A table's rows sorted by frame; positions in nm from the sensor's edge.
struct ByFrame {
    std::vector<std::size_t> order;  ///< row indices of the table
    std::vector<std::uint32_t> frame;
    std::vector<Point> points;

    explicit ByFrame(const Localizations& table) : order(table.size()), frame(table.size()), points(table.size()) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return table.frame[a] < table.frame[b]; });
        for (std::size_t k = 0; k < order.size(); ++k) {
            const std::size_t row = order[k];
            frame[k] = table.frame[row];
            points[k] = {(table.x_px[row] + 0.5) * table.pixel_size_nm, (table.y_px[row] + 0.5) * table.pixel_size_nm,
                         table.z_nm.empty() ? 0 : table.z_nm[row]};
        }
    }

    /// End of the rows in the same frame as row `begin`.
    std::size_t frame_end(std::size_t begin) const {
        return std::size_t(std::upper_bound(frame.begin() + std::ptrdiff_t(begin), frame.end(), frame[begin]) -
                           frame.begin());
    }
};

/// Error statistics along one axis.
struct AxisErrors {
    double sum = 0, squares = 0, scaled_sum = 0, scaled_squares = 0;
    std::size_t n = 0, scaled_n = 0;

    void add(double error, double precision) {
        sum += error, squares += error * error, ++n;
        if (!(precision > 0)) return;
        const double scaled = error / precision;
        scaled_sum += scaled, scaled_squares += scaled * scaled, ++scaled_n;
    }
    double bias() const { return n ? sum / double(n) : 0; }
    double mean_square() const { return n ? squares / double(n) : 0; }
    double std_over_crlb() const {
        if (scaled_n < 2) return 0;
        const double mean = scaled_sum / double(scaled_n);
        return std::sqrt(std::max(scaled_squares / double(scaled_n) - mean * mean, 0.0));
    }
};

/// Matches the frames and accumulates the statistics.
class Scorer {
  public:
    Scorer(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options)
        : table_(localizations),
          options_(options),
          found_(localizations),
          true_(truth),
          has_z_(!localizations.z_nm.empty() && !truth.z_nm.empty()) {}

    Score run() {
        std::size_t f = 0, t = 0;
        while (f < found_.frame.size() && t < true_.frame.size()) {
            if (found_.frame[f] < true_.frame[t])
                f = found_.frame_end(f);
            else if (true_.frame[t] < found_.frame[f])
                t = true_.frame_end(t);
            else {
                const std::size_t f_end = found_.frame_end(f), t_end = true_.frame_end(t);
                score_frame(f, f_end, t, t_end);
                f = f_end, t = t_end;
            }
        }
        return figures();
    }

  private:
    void score_frame(std::size_t f, std::size_t f_end, std::size_t t, std::size_t t_end) {
        const std::span<const Point> found(found_.points.data() + f, f_end - f);
        const std::span<const Point> real(true_.points.data() + t, t_end - t);
        const Candidates candidates =
            pairs_within(real, found, options_.radius_nm, has_z_ ? options_.axial_radius_nm : 0);
        const std::vector<int> partner = assign(candidates, found.size());
        for (std::size_t k = 0; k < partner.size(); ++k)
            if (partner[k] >= 0) add_match(found[partner[k]], real[k], found_.order[f + partner[k]]);
        add_minimum_distances(found, real);
        add_minimum_distances(real, found);
    }

    void add_match(const Point& found, const Point& real, std::size_t row) {
        const auto precision = [&](const std::vector<float>& column, double nm) {
            return column.empty() ? 0 : column[row] * nm;
        };
        ++matched_;
        x_.add(found.x_nm - real.x_nm, precision(table_.lpx_px, table_.pixel_size_nm));
        y_.add(found.y_nm - real.y_nm, precision(table_.lpy_px, table_.pixel_size_nm));
        if (has_z_) z_.add(found.z_nm - real.z_nm, precision(table_.lpz_nm, 1));
    }

    void add_minimum_distances(std::span<const Point> from, std::span<const Point> to) {
        for (double squared : nearest_squared(from, to))
            if (std::isfinite(squared)) minimum_squares_ += squared, ++minimum_count_;
    }

    Score figures() const {
        const auto share = [](std::size_t part, std::size_t of) { return of ? double(part) / double(of) : 0; };
        Score score;
        score.truths = true_.points.size(), score.localizations = found_.points.size(), score.matched = matched_;
        score.recall = share(matched_, score.truths);
        score.precision = share(matched_, score.localizations);
        score.jaccard = share(matched_, score.truths + score.localizations - matched_);
        score.rmse_nm = std::sqrt(x_.mean_square() + y_.mean_square());
        score.rmse_x_nm = std::sqrt(x_.mean_square()), score.rmse_y_nm = std::sqrt(y_.mean_square());
        score.rmse_z_nm = std::sqrt(z_.mean_square());
        score.bias_x_nm = x_.bias(), score.bias_y_nm = y_.bias(), score.bias_z_nm = z_.bias();
        score.rmsmd_nm = minimum_count_ ? std::sqrt(minimum_squares_ / double(minimum_count_)) : 0;
        score.std_over_crlb_x = x_.std_over_crlb(), score.std_over_crlb_y = y_.std_over_crlb();
        score.std_over_crlb_z = z_.std_over_crlb();
        score.has_z = has_z_;
        return score;
    }

    const Localizations& table_;
    ScoreOptions options_;
    ByFrame found_, true_;
    bool has_z_;
    std::size_t matched_ = 0, minimum_count_ = 0;
    double minimum_squares_ = 0;
    AxisErrors x_, y_, z_;
};

void require(const Localizations& table, const char* which) {
    if (!(table.pixel_size_nm > 0))
        throw OptionError(fmt::format("the {} say no pixel size, and distances are in nm: --pixel-size 100nm", which));
    if (table.x_px.size() != table.size() || table.y_px.size() != table.size() ||
        (!table.z_nm.empty() && table.z_nm.size() != table.size()))
        throw OptionError(fmt::format("the {} have {} frames, but {} values of x, {} of y and {} of z", which,
                                      table.size(), table.x_px.size(), table.y_px.size(), table.z_nm.size()));
}

}  // namespace

Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options) {
    require(localizations, "localizations");
    require(truth, "true positions");
    if (!(options.radius_nm > 0 && std::isfinite(options.radius_nm)))
        throw OptionError(fmt::format("a matching radius of {} nm: give it as in --radius 100nm", options.radius_nm));
    return Scorer(localizations, truth, options).run();
}

}  // namespace glint
