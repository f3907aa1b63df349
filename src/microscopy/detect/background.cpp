// Computes clipped means of tiles, and interpolates between them (docs/explanation/theory.md, section 5, Background).
// SPDX-License-Identifier: MIT
#include "detect/background.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "detect/rows.hpp"

namespace glint {
namespace {

constexpr float above_any_pixel = 1e30f;

}  // namespace

TileGrid tile_grid(int width, int height, const MatchedFilter& filter) {
    const int edge = 16 * int(std::ceil(12 * filter.width_px / 16));
    return {edge, std::max(1, width / edge), std::max(1, height / edge)};
}

Background::Background(const CameraView& camera, const MatchedFilter& filter)
    : camera_(&camera),
      grid_(tile_grid(camera.width(), camera.height(), filter)),
      shot_(std::size_t(grid_.columns) * grid_.rows),
      inverse_noise_(shot_.size()),
      blended_(std::size_t(grid_.columns)) {}

float Background::clipped_mean(const float* photoelectrons, int column, int row) {
    const int x = column * grid_.tile_px, y = row * grid_.tile_px, width = camera_->width();
    const long first = long(y) * width + x;
    const auto map = camera_->variance_map(), qe = camera_->qe_map();
    const Tile tile{photoelectrons + first,
                    map.empty() ? nullptr : map.data() + first,
                    qe.empty() ? nullptr : qe.data() + first,
                    width,
                    column + 1 < grid_.columns ? grid_.tile_px : width - x,
                    row + 1 < grid_.rows ? grid_.tile_px : camera_->height() - y,
                    camera_->shot_noise(),
                    camera_->variance_scalar()};
    // Starts from the plain mean. The steps are shared with the GPU (frame_math.hpp); the sums are SIMD code.
    double plain = GLINT_PICK(plain_sum)(tile) / (double(tile.width) * tile.height);
    if (std::isnan(plain)) {
        has_missing_ = true;
        double sum, count;
        GLINT_PICK(clipped_sum)(tile, above_any_pixel, &sum, &count);
        if (!is_enough_of_tile(count, tile.width, tile.height)) return std::numeric_limits<float>::quiet_NaN();
        plain = sum / count;
    }
    double mean = plain, sum = 0, count = 0;
    for (int pass = 0; pass < max_clipping_passes; ++pass) {
        GLINT_PICK(clipped_sum)(tile, float(mean), &sum, &count);
        if (!clip(mean, sum, count, tile.shot_noise, tile.variance_scalar)) break;
    }
    return float(mean);
}

void Background::measure(const float* photoelectrons) {
    const float scale = camera_->shot_noise(), variance = camera_->variance_scalar();
    has_missing_ = false;
    for (int row = 0; row < grid_.rows; ++row)
        for (int column = 0; column < grid_.columns; ++column)
            shot_[std::size_t(row) * grid_.columns + column] =
                tile_shot_noise(clipped_mean(photoelectrons, column, row), scale);
    if (has_missing_) fill_missing_tiles(shot_.data(), grid_.columns, grid_.rows);
    for (std::size_t k = 0; k < shot_.size(); ++k)
        inverse_noise_[k] = 1 / std::sqrt(total_variance(shot_[k], variance));
}

float Background::variance_at(int x, int y) const {
    const int column = std::min(x / grid_.tile_px, grid_.columns - 1),
              row = std::min(y / grid_.tile_px, grid_.rows - 1);
    return total_variance(shot_[std::size_t(row) * grid_.columns + column], camera_->variance_scalar());
}

void Background::interpolate(const std::vector<float>& nodes, int y, float* out) {
    const Between down = between(y, grid_.tile_px, grid_.rows);
    const float* above = nodes.data() + std::size_t(down.tile) * grid_.columns;
    const float* below = above + (grid_.rows > 1 ? grid_.columns : 0);
    // Interpolates down the columns first: one interpolation per tile instead of one per pixel.
    for (int k = 0; k < grid_.columns; ++k) blended_[k] = blend(above[k], below[k], down.fraction);

    const int width = camera_->width(), half = grid_.tile_px / 2;
    // Constant before the centre of the first tile and after that of the last one, linear in between.
    int x = 0;
    for (; x < std::min(half, width); ++x) out[x] = blended_[0];
    for (int k = 0; k + 1 < grid_.columns; ++k) {
        for (int i = 0; i < grid_.tile_px; ++i) out[x + i] = along(blended_[k], blended_[k + 1], grid_.tile_px, i);
        x += grid_.tile_px;
    }
    for (; x < width; ++x) out[x] = blended_[std::size_t(grid_.columns) - 1];
}

}  // namespace glint
