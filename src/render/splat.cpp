// Sums dots in parallel over bands of rows; each band adds its dots in the table's order.
// SPDX-License-Identifier: MIT
#include "render/splat.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/arena.hpp"

namespace glint {
namespace {

constexpr int band_rows = 32;
constexpr double reach = 4;  // in widths; the outermost pixels receive the tails beyond

/// The normal distribution function from a table with linear interpolation; error below 5e-7.
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
        const double low = std::floor(centre - reach * sigma), high = std::floor(centre + reach * sigma);
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

/// The dots that touch each band, in ascending order; concatenated lists.
struct Bands {
    std::vector<std::size_t> begin;
    std::vector<std::size_t> dots;

    explicit Bands(const Canvas& canvas) : begin(std::size_t((canvas.height() - 1) / band_rows + 2), 0) {
        visit(canvas, [&](std::size_t band, std::size_t) { ++begin[band + 1]; });
        for (std::size_t band = 1; band < begin.size(); ++band) begin[band] += begin[band - 1];
        dots.resize(begin.back());
        std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
        visit(canvas, [&](std::size_t band, std::size_t k) { dots[next[band]++] = k; });
    }

    template <class F>
    static void visit(const Canvas& canvas, F touch) {
        for (std::size_t k = 0; k < canvas.count(); ++k) {
            const std::optional<Dot> dot = canvas.dot(k);
            if (!dot) continue;
            const double low = std::max(dot->y - reach * dot->sigma_y, 0.0);
            const double high = std::min(dot->y + reach * dot->sigma_y, canvas.height() - 1.0);
            for (auto band = std::size_t(low) / band_rows; band <= std::size_t(std::max(high, low)) / band_rows; ++band)
                touch(band, k);
        }
    }
};

void add(const Dot& dot, float weight, int first_row, int end_row, const Canvas& canvas, std::vector<float>& image) {
    thread_local Profile across, down;
    across.set(dot.x, dot.sigma_x, canvas.width());
    down.set(dot.y, dot.sigma_y, canvas.height());
    const int begin = std::max(down.first, first_row);
    const int end = std::min(down.first + int(down.shares.size()), end_row);
    for (int y = begin; y < end; ++y) {
        const float share = weight * down.shares[std::size_t(y - down.first)];
        float* row = image.data() + std::size_t(y) * canvas.width() + across.first;
        for (std::size_t i = 0; i < across.shares.size(); ++i) row[i] += share * across.shares[i];
    }
}

}  // namespace

std::vector<float> splat(const Canvas& canvas, std::span<const float> weights) {
    std::vector<float> image(std::size_t(canvas.width()) * canvas.height(), 0.0f);
    const Bands bands(canvas);
    in_own_arena([&] {
        tbb::parallel_for(std::size_t{0}, bands.begin.size() - 1, [&](std::size_t band) {
            const int first_row = int(band) * band_rows;
            for (std::size_t d = bands.begin[band]; d < bands.begin[band + 1]; ++d) {
                const std::size_t k = bands.dots[d];
                const float weight = weights.empty() ? 1 : weights[k];
                if (std::isfinite(weight)) add(*canvas.dot(k), weight, first_row, first_row + band_rows, canvas, image);
            }
        });
    });
    return image;
}

}  // namespace glint
