// Simulated rings of eight corners, like nuclear pores: radius 55 nm, one per cell of a jittered grid.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numbers>

#include "simulate/scene.hpp"

namespace glint {
namespace {

constexpr double radius_nm = 55;
constexpr double cell_nm = 350, jitter_nm = 80;  // adjacent rings never overlap
constexpr double label_nm = 4;                   // standard deviation of a label's distance from its corner
constexpr int corners = 8;

class Rings : public Scene {
  public:
    explicit Rings(const SimulateOptions& options)
        : options_(options),
          cell_px_(cell_nm / options.pixel_size_nm),
          columns_(cells(options.width)),
          rows_(cells(options.height)) {}

    MoleculePosition draw(Random& random) const override {
        const auto cell = std::int64_t(random.uniform() * double(columns_ * rows_));
        const double corner = std::floor(random.uniform() * corners);
        Random layout(options_.seed, Stream::ring, std::uint64_t(cell));
        const double pixel_nm = options_.pixel_size_nm;
        const double x = centre(cell % columns_, layout), y = centre(cell / columns_, layout);
        const double z_um = layout.uniform(-options_.z_range_nm / 1000, options_.z_range_nm / 1000);
        const double angle = 2 * std::numbers::pi * (layout.uniform() + corner) / corners;
        const double dx = radius_nm * std::cos(angle) + label_nm * random.normal();
        const double dy = radius_nm * std::sin(angle) + label_nm * random.normal();
        return within(options_, {x + dx / pixel_nm, y + dy / pixel_nm, z_um + label_nm / 1000 * random.normal()});
    }

  private:
    std::int64_t cells(int pixels) const { return std::max<std::int64_t>(1, std::int64_t((pixels - 1) / cell_px_)); }

    double centre(std::int64_t cell, Random& layout) const {
        return (double(cell) + 0.5) * cell_px_ + layout.uniform(-jitter_nm, jitter_nm) / options_.pixel_size_nm;
    }

    SimulateOptions options_;
    double cell_px_;
    std::int64_t columns_, rows_;
};

}  // namespace

std::unique_ptr<Scene> make_rings(const SimulateOptions& options) { return std::make_unique<Rings>(options); }

}  // namespace glint
