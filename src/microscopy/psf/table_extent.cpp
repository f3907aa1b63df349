// SPDX-License-Identifier: MIT
#include "psf/table_extent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace glint {
namespace {

constexpr double min_width_px = 0.3, max_width_px = 8, default_width_px = 1.3;

/// A Gaussian of unit energy at the points of the grid, from the middle on.
std::vector<double> sample_gaussian(int edge, double width) {
    std::vector<double> values;
    double energy = 0;
    for (int k = 0; k < edge; ++k) {
        const double at = (k - 0.5 * (edge - 1)) / width;
        values.push_back(std::exp(-0.5 * at * at));
        energy += values.back() * values.back();
    }
    for (double& value : values) value /= std::sqrt(energy);
    return values;
}

double find_half_window_of_cell(const PsfTable& table, std::span<const float> values) {
    constexpr double share = 0.8;
    const int height = table.shape()[1], width = table.shape()[2];
    // A B-spline's sum is 1, so the light of a window is the sum of its coefficients.
    std::vector<double> light(std::size_t(std::max(height, width)) + 1);
    double sum = 0;
    const InnerPlanes inner = inner_planes(table.shape());
    const float* at = values.data() + std::size_t(inner.first) * std::size_t(height) * std::size_t(width);
    for (int k = 0; k < inner.count; ++k) {
        std::fill(light.begin(), light.end(), 0.0);
        for (int j = 0; j < height; ++j)
            for (int i = 0; i < width; ++i) {
                const double from_middle = std::max(std::abs(i - 0.5 * (width - 1)), std::abs(j - 0.5 * (height - 1)));
                light[std::size_t(std::ceil(from_middle))] += double(*at++);
            }
        const double all = std::accumulate(light.begin(), light.end(), 0.0);
        double inside = light[0];
        std::size_t half = 0;
        while (inside < share * all && half + 1 < light.size()) inside += light[++half];
        sum += double(half) / table.scale().samples_per_px;
    }
    return sum / inner.count;
}

LightShare find_light_share_of_cell(const PsfTable& table, std::span<const float> values, int size) {
    const int height = table.shape()[1], width = table.shape()[2];
    const double half = 0.5 * size * table.scale().samples_per_px;
    // The part of a sample that lies in the window, and the part of a coefficient's light, which three samples share.
    const auto covered = [half](double from_middle) {
        return std::clamp(half + 0.5 - std::abs(from_middle), 0.0, 1.0);
    };
    const auto make_parts = [covered](int edge) {
        std::vector<double> parts;
        for (int k = 0; k < edge; ++k) {
            const double at = k - 0.5 * (edge - 1);
            parts.push_back((covered(at - 1) + 4 * covered(at) + covered(at + 1)) / 6);
        }
        return parts;
    };
    const std::vector<double> down = make_parts(height), along = make_parts(width);
    LightShare share{0, 1};
    const InnerPlanes inner = inner_planes(table.shape());
    const float* at = values.data() + std::size_t(inner.first) * std::size_t(height) * std::size_t(width);
    for (int k = 0; k < inner.count; ++k) {
        double inside = 0, all = 0;
        for (int j = 0; j < height; ++j)
            for (int i = 0; i < width; ++i, ++at) {
                all += double(*at);
                inside += down[std::size_t(j)] * along[std::size_t(i)] * double(*at);
            }
        const double here = all > 0 ? std::clamp(inside / all, 0.0, 1.0) : 0;
        share.mean += here / inner.count, share.min = std::min(share.min, here);
    }
    return share;
}

}  // namespace

double find_filter_width_px(const PsfTable::Shape& shape, std::span<const float> coefficients, int samples_per_px) {
    const auto [depths, height, width, more] = shape;
    if ((depths < 4 && depths != 1) || height < 4 || width < 4 || more != 1) return default_width_px;
    const std::size_t plane = std::size_t(height) * std::size_t(width);
    // At most about 32 planes: widths change slowly with z.
    const InnerPlanes inner = inner_planes(shape);
    const int step = std::max(1, inner.count / 32);
    double best = 0, best_width_px = default_width_px;
    for (double width_px = min_width_px; width_px <= max_width_px; width_px *= 1.05) {
        const std::vector<double> x = sample_gaussian(width, width_px * samples_per_px),
                                  y = sample_gaussian(height, width_px * samples_per_px);
        double sum = 0;
        for (int k = 0; k < inner.count; k += step) {
            const float* at = coefficients.data() + std::size_t(inner.first + k) * plane;
            double response = 0;
            for (int j = 0; j < height; ++j) {
                double row = 0;
                for (int i = 0; i < width; ++i) row += x[std::size_t(i)] * double(*at++);
                response += y[std::size_t(j)] * row;
            }
            sum += std::max(response, 0.0);
        }
        if (sum > best) best = sum, best_width_px = width_px;
    }
    return best_width_px;
}

double find_half_window_px(const PsfTable& table) {
    double most = 0;
    for (int cell = 0; cell < table.field().cells(); ++cell)
        most = std::max(most, find_half_window_of_cell(table, table.cell(cell)));
    return most;
}

LightShare find_light_share(const PsfTable& table, int size) {
    LightShare share{0, 1};
    const int cells = table.field().cells();
    for (int cell = 0; cell < cells; ++cell) {
        const LightShare here = find_light_share_of_cell(table, table.cell(cell), size);
        share.mean += here.mean / cells, share.min = std::min(share.min, here.min);
    }
    return share;
}

}  // namespace glint
