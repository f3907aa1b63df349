// Clipped means of tiles, and their interpolation.
// SPDX-License-Identifier: MIT
#include "detect/background.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "detect/rows.hpp"

namespace glint {
namespace {

constexpr int max_passes = 10;

int tile_edge(double sigma_px) { return 16 * int(std::ceil(12 * sigma_px / 16)); }

/// Where a position lies between the centres of tiles: the tile before, and how far it is to the next, 0
/// to 1.
struct Between {
    int tile;
    float fraction;
};

Between between(int at, int tile_px, int tiles) {
    const float place = (float(at) + 0.5f) / float(tile_px) - 0.5f;
    const int tile = std::clamp(int(std::floor(place)), 0, std::max(0, tiles - 2));
    return {tile, std::clamp(place - float(tile), 0.0f, tiles > 1 ? 1.0f : 0.0f)};
}

}  // namespace

Background::Background(const CameraView& camera, double sigma_px)
    : camera_(&camera),
      tile_px_(tile_edge(sigma_px)),
      columns_(std::max(1, camera.width() / tile_px_)),
      rows_(std::max(1, camera.height() / tile_px_)),
      shot_(std::size_t(columns_) * rows_),
      inverse_sigma_(shot_.size()),
      blended_(std::size_t(columns_)) {}

/// The last tile of a row or column takes what is left over.
float Background::clipped_mean(const float* photoelectrons, int column, int row) const {
    const int x = column * tile_px_, y = row * tile_px_, width = camera_->width();
    const long first = long(y) * width + x;
    const auto map = camera_->variance_map();
    const Tile tile{photoelectrons + first,
                    map.empty() ? nullptr : map.data() + first,
                    width,
                    column + 1 < columns_ ? tile_px_ : width - x,
                    row + 1 < rows_ ? tile_px_ : camera_->height() - y,
                    camera_->excess_noise(),
                    camera_->variance_scalar()};
    double mean = GLINT_PICK(plain_sum)(tile) / (double(tile.width) * tile.height);
    for (int pass = 0; pass < max_passes; ++pass) {
        double sum = 0, count = 0;
        GLINT_PICK(clipped_sum)(tile, float(mean), &sum, &count);
        if (!(count > 0)) break;
        const double before = std::exchange(mean, sum / count);
        const double sigma = std::sqrt(std::max(tile.excess_noise * mean, 0.0) + tile.variance_scalar);
        if (!(before - mean > 0.02 * sigma)) break;
    }
    return float(mean);
}

void Background::measure(const float* photoelectrons) {
    const float scale = camera_->excess_noise(), variance = camera_->variance_scalar();
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) {
            const std::size_t k = std::size_t(row) * columns_ + column;
            shot_[k] = scale * std::max(clipped_mean(photoelectrons, column, row), 0.0f);
            inverse_sigma_[k] = 1 / std::sqrt(std::max(shot_[k] + variance, least_variance));
        }
}

float Background::variance_at(int x, int y) const {
    const int column = std::min(x / tile_px_, columns_ - 1), row = std::min(y / tile_px_, rows_ - 1);
    return std::max(shot_[std::size_t(row) * columns_ + column] + camera_->variance_scalar(), least_variance);
}

void Background::interpolate(const std::vector<float>& nodes, int y, float* out) {
    const Between down = between(y, tile_px_, rows_);
    const float* above = nodes.data() + std::size_t(down.tile) * columns_;
    const float* below = above + (rows_ > 1 ? columns_ : 0);
    for (int k = 0; k < columns_; ++k) blended_[k] = above[k] + down.fraction * (below[k] - above[k]);

    const int width = camera_->width(), half = tile_px_ / 2;
    int x = 0;
    for (; x < std::min(half, width); ++x) out[x] = blended_[0];
    for (int k = 0; k + 1 < columns_; ++k) {
        const float step = (blended_[k + 1] - blended_[k]) / float(tile_px_), first = blended_[k] + 0.5f * step;
        for (int i = 0; i < tile_px_; ++i) out[x + i] = first + step * float(i);
        x += tile_px_;
    }
    for (; x < width; ++x) out[x] = blended_[std::size_t(columns_) - 1];
}

}  // namespace glint
