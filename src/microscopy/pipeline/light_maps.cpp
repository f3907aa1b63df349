// Computes Gaussian-weighted sums along rows and columns; handles marked pixels patch by patch.
// SPDX-License-Identifier: MIT
#include "pipeline/light_maps.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace glint {
namespace {

/// Smooths a row at ascending positions, several close ones together.
class SmoothedRow {
  public:
    SmoothedRow(const Smoothing& smoothing, const float* row) : smoothing_(smoothing), row_(row) {}
    float at(int x) {
        if (x >= first_ + Smoothing::places_together) {
            if (!smoothing_.across(row_, x, sums_)) return smoothing_.across(row_, x);
            first_ = x;
        }
        return sums_[std::size_t(x - first_)];
    }

  private:
    const Smoothing& smoothing_;
    const float* row_;
    int first_ = -Smoothing::places_together;
    std::array<float, Smoothing::places_together> sums_{};
};

/// Returns the patches of marked pixels that touch each other along rows and columns, each in pixel order.
std::vector<std::vector<std::uint32_t>> patches_of(const std::vector<std::uint32_t>& places, int width) {
    std::vector<std::size_t> parent(places.size());
    std::iota(parent.begin(), parent.end(), std::size_t(0));
    const auto root_of = [&](std::size_t k) {
        while (parent[k] != k) k = parent[k] = parent[parent[k]];
        return k;
    };
    std::size_t above = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
        const auto join = [&](std::size_t other) {
            parent[std::max(root_of(k), root_of(other))] = std::min(root_of(k), root_of(other));
        };
        if (k > 0 && places[k - 1] + 1 == places[k] && places[k] % std::uint32_t(width) != 0) join(k - 1);
        while (places[above] + std::uint32_t(width) < places[k]) ++above;
        if (places[above] + std::uint32_t(width) == places[k]) join(above);
    }
    std::vector<std::vector<std::uint32_t>> patches;
    std::vector<std::size_t> patch_of(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (parent[k] == k) patch_of[k] = patches.size(), patches.emplace_back();
        patches[patch_of[k] = patch_of[root_of(k)]].push_back(places[k]);
    }
    return patches;
}

/// Smooths the marked pixels within the limits that the unmarked pixels around them set (Laplace's equation).
void relax(const std::vector<LightMap*>& maps, const std::vector<std::uint32_t>& places, const FrameField& field) {
    constexpr int sweeps = 60;
    const std::size_t width = std::size_t(field.width), last = maps.front()->size() - width;
    const auto patches = patches_of(places, field.width);
    tbb::parallel_for(std::size_t(0), patches.size(), [&](std::size_t patch) {
        std::vector<std::array<std::size_t, 4>> around;  // left, right, above, below
        for (const std::size_t k : patches[patch])
            around.push_back({k % width > 0 ? k - 1 : k, (k + 1) % width > 0 ? k + 1 : k, k < width ? k : k - width,
                              k >= last ? k : k + width});
        for (int sweep = 0; sweep < sweeps; ++sweep)
            for (std::size_t i = 0; i < around.size(); ++i)
                for (LightMap* map : maps) {
                    float* light = map->data();
                    const auto& [left, right, above, below] = around[i];
                    light[patches[patch][i]] = 0.25f * (light[left] + light[right] + light[above] + light[below]);
                }
    });
}

}  // namespace

Smoothing::Smoothing(const FrameField& field, double blur_px) : field_(field), radius_(int(std::ceil(3 * blur_px))) {
    for (int k = -radius_; k <= radius_; ++k) weights_.push_back(float(std::exp(-0.5 * k * k / (blur_px * blur_px))));
    const float sum = std::accumulate(weights_.begin(), weights_.end(), 0.0f);
    for (float& weight : weights_) weight /= sum;
}

float Smoothing::across(const float* row, int x) const {
    float sum = 0;
    for (int k = -radius_; k <= radius_; ++k)
        sum += weights_[std::size_t(k + radius_)] * row[std::clamp(x + k, 0, field_.width - 1)];
    return sum;
}
bool Smoothing::across(const float* row, int x, std::array<float, places_together>& sums) const {
    if (x < radius_ || x + radius_ + places_together > field_.width) return false;
    sums.fill(0);
    for (int k = -radius_; k <= radius_; ++k)
        for (int i = 0; i < places_together; ++i)
            sums[std::size_t(i)] += weights_[std::size_t(k + radius_)] * row[x + k + i];
    return true;
}
void Smoothing::across(const float* row, float* to) const {
    const int width = field_.width;
    for (int k = -radius_; k <= radius_; ++k) {
        const float weight = weights_[std::size_t(k + radius_)];
        const int inner = std::clamp(-k, 0, width), outer = std::clamp(width - k, 0, width);
        for (int x = 0; x < inner; ++x) to[x] += weight * row[0];
        for (int x = inner; x < outer; ++x) to[x] += weight * row[x + k];
        for (int x = std::max(outer, inner); x < width; ++x) to[x] += weight * row[width - 1];
    }
}

LightMap blurred(const LightMap& map, const FrameField& field, double blur_px) {
    const Smoothing smoothing(field, blur_px);
    LightMap out(map.size(), 0);
    tbb::parallel_for(tbb::blocked_range<int>(0, field.height), [&](const tbb::blocked_range<int>& rows) {
        LightMap row(std::size_t(field.width));
        for (int y = rows.begin(); y < rows.end(); ++y) {
            std::fill(row.begin(), row.end(), 0.0f);
            smoothing.down(
                y, 0, field.width, [&](std::size_t k) { return map[k]; }, row.data());
            smoothing.across(row.data(), out.data() + field.at(0, y));
        }
    });
    return out;
}

void fill_marked(const std::vector<LightMap*>& maps, const std::vector<std::uint8_t>& marks, const FrameField& field) {
    constexpr float enough = 0.05f;
    std::vector<std::uint32_t> places;
    for (std::size_t k = 0; k < marks.size(); ++k)
        if (marks[k]) places.push_back(std::uint32_t(k));
    if (places.empty()) return;
    for (LightMap* map : maps)
        for (const std::uint32_t k : places) (*map)[k] = 0;
    const std::size_t width = std::size_t(field.width);
    std::vector<std::size_t> row_begin{0};  // first place of each row
    for (std::size_t y = 1; y <= std::size_t(field.height); ++y)
        row_begin.push_back(
            std::size_t(std::lower_bound(places.begin() + std::ptrdiff_t(row_begin.back()), places.end(), y * width) -
                        places.begin()));
    std::vector<std::uint8_t> left(places.size(), 1);
    std::vector<LightMap> filled(maps.size(), LightMap(places.size(), 0));
    for (double blur_px = 3 * field.spot_width_px; blur_px < std::max(field.width, field.height); blur_px *= 2) {
        const Smoothing smoothing(field, blur_px);
        tbb::parallel_for(0, field.height, [&](int y) {
            const std::size_t begin = row_begin[std::size_t(y)], end = row_begin[std::size_t(y) + 1];
            std::size_t first = end, last = begin;
            for (std::size_t i = begin; i < end; ++i)
                if (left[i]) first = std::min(first, i), last = i;
            if (first == end) return;
            const auto x_of = [&](std::size_t i) { return int(places[i] - std::size_t(y) * width); };
            const int from = std::max(x_of(first) - smoothing.radius(), 0),
                      until = std::min(x_of(last) + smoothing.radius() + 1, field.width);
            LightMap weights(width, 0), values(width);
            smoothing.down(
                y, from, until, [&](std::size_t k) { return marks[k] ? 0.0f : 1.0f; }, weights.data());
            SmoothedRow weight_at(smoothing, weights.data());
            std::vector<std::pair<std::size_t, float>> known;
            for (std::size_t i = first; i <= last; ++i)
                if (left[i])
                    if (const float weight = weight_at.at(x_of(i)); weight > enough)
                        known.emplace_back(i, weight), left[i] = 0;
            for (std::size_t m = 0; m < maps.size() && !known.empty(); ++m) {
                const LightMap& map = *maps[m];
                std::fill(values.begin(), values.end(), 0.0f);
                smoothing.down(
                    y, from, until, [&](std::size_t k) { return map[k]; }, values.data());
                SmoothedRow value_at(smoothing, values.data());
                for (const auto& [i, weight] : known) filled[m][i] = value_at.at(x_of(i)) / weight;
            }
        });
        if (std::count(left.begin(), left.end(), 1) == 0) break;
    }
    for (std::size_t m = 0; m < maps.size(); ++m)
        for (std::size_t i = 0; i < places.size(); ++i) (*maps[m])[places[i]] = filled[m][i];
    relax(maps, places, field);
}

}  // namespace glint
