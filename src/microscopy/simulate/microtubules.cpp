// Simulated microtubules: hollow filaments with a diameter of 25 nm along curves through the field.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "simulate/scene.hpp"

namespace glint {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double radius_nm = 12.5;

/// A straight segment of a filament inside the field.
struct Segment {
    MoleculePosition from, to;
    double end_px = 0;  ///< cumulative length of the segments up to this one's end
};

/// A filament's path: a line through the field with two sine bends, undulating in z; t from 0 to 1.
struct Course {
    double x, y, angle, length, bend[2], bend_phase[2], depth_um, depth_cycles, depth_phase;

    Course(const SimulateOptions& options, double low_angle, double high_angle, Random& random)
        : x(random.uniform(0.1, 0.9) * (options.width - 1)),
          y(random.uniform(0.1, 0.9) * (options.height - 1)),
          angle(random.uniform(low_angle, high_angle)),
          length(2.2 * std::hypot(options.width, options.height)),
          bend{0.06 * length * random.uniform(0.3, 1), 0.015 * length * random.uniform(0.3, 1)},
          bend_phase{random.uniform(0, 2 * pi), random.uniform(0, 2 * pi)},
          depth_um(std::max(options.z_range_nm / 1000 - radius_nm / 1000, 0.0)),
          depth_cycles(random.uniform(1.5, 4)),
          depth_phase(random.uniform(0, 2 * pi)) {}

    MoleculePosition at(double t) const {
        const double along = (t - 0.5) * length;
        const auto wave = [&](int k, double u) { return bend[k] * std::sin(2 * pi * (k + 1) * u + bend_phase[k]); };
        const double across = wave(0, t) - wave(0, 0.5) + wave(1, t) - wave(1, 0.5);
        return {x + along * std::cos(angle) - across * std::sin(angle),
                y + along * std::sin(angle) + across * std::cos(angle),
                depth_um * std::sin(2 * pi * depth_cycles * t + depth_phase)};
    }
};

class Microtubules : public Scene {
  public:
    explicit Microtubules(const SimulateOptions& options) : options_(options) {
        Random random(options.seed, Stream::structure, 0);
        const double field_um = std::sqrt(double(options.width) * options.height) * options.pixel_size_nm / 1000;
        const int filaments = int(std::clamp(std::round(field_um / 1.5), 3.0, 40.0));
        for (int k = 0; k < filaments; ++k)  // one per range of angles, so that they cross
            add(Course(options, pi * k / filaments, pi * (k + 1) / filaments, random));
        if (segments_.empty()) add_segment({0, 0, 0}, {options.width - 1.0, options.height - 1.0, 0});
    }

    /// Draws positions uniformly along the filaments and around their walls.
    MoleculePosition draw(Random& random) const override {
        const double along_px = random.uniform() * segments_.back().end_px;
        const auto segment = std::min(std::upper_bound(segments_.begin(), segments_.end(), along_px,
                                                       [](double value, const Segment& s) { return value < s.end_px; }),
                                      segments_.end() - 1);
        const MoleculePosition &a = segment->from, &b = segment->to;
        const double t = random.uniform(), around = random.uniform(0, 2 * pi);
        const double dx = b.x_px - a.x_px, dy = b.y_px - a.y_px, length = std::hypot(dx, dy);
        const double aside = length > 0 ? radius_nm / options_.pixel_size_nm * std::cos(around) / length : 0;
        return within(options_, {a.x_px + t * dx - aside * dy, a.y_px + t * dy + aside * dx,
                                 a.z_um + t * (b.z_um - a.z_um) + radius_nm / 1000 * std::sin(around)});
    }

  private:
    bool inside(const MoleculePosition& p) const {
        return p.x_px >= 0 && p.x_px <= options_.width - 1 && p.y_px >= 0 && p.y_px <= options_.height - 1;
    }

    void add(const Course& course) {
        constexpr int pieces = 1000;
        for (int k = 0; k < pieces; ++k) {
            const MoleculePosition from = course.at(double(k) / pieces), to = course.at(double(k + 1) / pieces);
            if (inside(from) && inside(to)) add_segment(from, to);
        }
    }

    void add_segment(const MoleculePosition& from, const MoleculePosition& to) {
        const double before = segments_.empty() ? 0 : segments_.back().end_px;
        segments_.push_back({from, to, before + std::hypot(to.x_px - from.x_px, to.y_px - from.y_px)});
    }

    SimulateOptions options_;
    std::vector<Segment> segments_;
};

}  // namespace

std::unique_ptr<Scene> make_microtubules(const SimulateOptions& options) {
    return std::make_unique<Microtubules>(options);
}

}  // namespace glint
