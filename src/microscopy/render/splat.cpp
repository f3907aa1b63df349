// Sums dots in parallel over bands of rows. Each band adds its dots in the order of the table, piece by piece.
// SPDX-License-Identifier: MIT
#include "render/canvas.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "base/arena.hpp"
#include "base/large_vector.hpp"

namespace glint {
namespace {

constexpr int band_rows = 32;
constexpr std::size_t piece_rows = 1 << 20;  ///< 40 MB of dots

/// The normal distribution function, by linear interpolation in a table; error below 5e-7.
class NormalCdf {
  public:
    NormalCdf() {
        for (int k = 0; k < int(table_.size()); ++k)
            table_[std::size_t(k)] = float(0.5 * std::erfc(-(double(k) / steps - limit) / std::numbers::sqrt2));
    }
    float operator()(float t) const {
        const float place = std::clamp((t + float(limit)) * float(steps), 0.0f, float(2 * limit * steps) - 0.01f);
        const int k = int(place);
        return table_[std::size_t(k)] + (place - float(k)) * (table_[std::size_t(k) + 1] - table_[std::size_t(k)]);
    }

  private:
    static constexpr int limit = 6, steps = 256;
    std::array<float, 2 * limit * steps + 1> table_{};
};

/// The pixels of one axis that a dot covers, and the fraction in each; fractions sum to 1, minus the part outside the
/// picture.
struct Profile {
    int first = 0;
    std::vector<float> shares;

    void set(double centre, double sigma, int pixels) {
        static const NormalCdf cdf;
        const double low = std::floor(centre - dot_reach * sigma), high = std::floor(centre + dot_reach * sigma);
        first = int(std::max(low, 0.0));
        const int last = int(std::min(high, pixels - 1.0));
        shares.resize(std::size_t(last - first + 1));
        const float scale = sigma > 0 ? float(1 / sigma) : 0;
        float below = first == low ? 0 : cdf(float(first - centre) * scale);
        for (int i = first; i <= last; ++i) {
            const float above = i == high ? 1 : cdf(float(i + 1 - centre) * scale);
            shares[std::size_t(i - first)] = above - below;
            below = above;
        }
    }
};

/// Returns the first and the last band that a dot touches.
std::pair<std::size_t, std::size_t> bands_of(const Dot& dot, int height) {
    const double low = std::max(dot.y - dot_reach * dot.sigma_y, 0.0);
    const double high = std::min(dot.y + dot_reach * dot.sigma_y, height - 1.0);
    return {std::size_t(low) / band_rows, std::size_t(std::max(high, low)) / band_rows};
}

/// Some rows of a table as dots, with the dots that touch each band in the table's order.
class Piece {
  public:
    explicit Piece(const Canvas& canvas) : canvas_(canvas), bands_(std::size_t(canvas.height() - 1) / band_rows + 1) {}

    void fill(const Localizations& table, std::size_t first, std::size_t rows, const HueOf& hue_of) {
        if (dots_.size() < rows) resize_large(dots_, rows);
        const std::size_t parts = (rows + part_rows - 1) / part_rows;
        std::vector<std::size_t> next(parts * bands_, 0);  // for each part in each band: first a count, then a position
        const auto for_parts = [&](auto work) {
            tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
                std::size_t* of_bands = next.data() + part * bands_;
                for (std::size_t k = part * part_rows; k < std::min(rows, (part + 1) * part_rows); ++k)
                    work(k, of_bands);
            });
        };
        for_parts([&](std::size_t k, std::size_t* counts) {
            Dot& dot = dots_[k];
            dot = canvas_.dot(table, first + k);
            if (hue_of && dot.is_inside) dot.hue = hue_of(table, first + k), dot.is_inside = !std::isnan(dot.hue);
            if (!dot.is_inside) return;
            const auto [begin, last] = bands_of(dot, canvas_.height());
            for (std::size_t band = begin; band <= last; ++band) ++counts[band];
        });
        std::size_t sum = 0;
        begin_.clear();
        for (std::size_t band = 0; band < bands_; ++band) {
            begin_.push_back(sum);
            for (std::size_t part = 0; part < parts; ++part) sum += std::exchange(next[part * bands_ + band], sum);
        }
        begin_.push_back(sum);
        if (touching_.size() < sum) resize_large(touching_, sum + sum / 4);
        for_parts([&](std::size_t k, std::size_t* places) {
            if (!dots_[k].is_inside) return;
            const auto [begin, last] = bands_of(dots_[k], canvas_.height());
            for (std::size_t band = begin; band <= last; ++band) touching_[places[band]++] = std::uint32_t(k);
        });
    }

    std::size_t bands() const { return bands_; }
    template <class Visit>
    void for_band(std::size_t band, Visit visit) const {
        for (std::size_t k = begin_[band]; k < begin_[band + 1]; ++k) visit(dots_[touching_[k]]);
    }

  private:
    static constexpr std::size_t part_rows = 1 << 14;
    const Canvas& canvas_;
    std::size_t bands_;
    std::vector<Dot> dots_;                ///< at least as many as the piece has dots
    std::vector<std::size_t> begin_;       ///< first index of each band in `touching_`
    std::vector<std::uint32_t> touching_;  ///< indices of dots
};

void add_row(float* to, const std::vector<float>& shares, float factor) {
    for (std::size_t i = 0; i < shares.size(); ++i) to[i] += factor * shares[i];
}

/// Adds a dot to the rows from `first_row` to before `end_row`.
void add(const Dot& dot, int first_row, int end_row, const Canvas& canvas, Splats& to) {
    thread_local Profile across, down;
    across.set(dot.x, dot.sigma_x, canvas.width());
    down.set(dot.y, dot.sigma_y, canvas.height());
    const int begin = std::max(down.first, first_row);
    const int end = std::min(down.first + int(down.shares.size()), end_row);
    for (int y = begin; y < end; ++y) {
        const float share = down.shares[std::size_t(y - down.first)];
        const std::size_t at = std::size_t(y) * std::size_t(canvas.width()) + std::size_t(across.first);
        add_row(to.density.data() + at, across.shares, share);
        if (!to.hue.empty()) add_row(to.hue.data() + at, across.shares, share * dot.hue);
    }
}

}  // namespace

Splats splat(const Canvas& canvas, TablePieces& table, const HueOf& hue_of) {
    const std::size_t pixels = std::size_t(canvas.width()) * std::size_t(canvas.height());
    Splats splats;
    resize_large(splats.density, pixels);
    if (hue_of) resize_large(splats.hue, pixels);
    in_own_arena([&] {
        Piece dots(canvas);
        table.for_each([&](const Localizations& piece) {
            for (std::size_t first = 0; first < piece.size(); first += piece_rows) {
                dots.fill(piece, first, std::min(piece_rows, piece.size() - first), hue_of);
                tbb::parallel_for(std::size_t{0}, dots.bands(), [&](std::size_t band) {
                    const int row = int(band) * band_rows;
                    dots.for_band(band, [&](const Dot& dot) { add(dot, row, row + band_rows, canvas, splats); });
                });
            }
        });
    });
    return splats;
}

}  // namespace glint
