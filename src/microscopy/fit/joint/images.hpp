// The images of the molecules of a group: a box of pixels for each, and the model and its derivatives in there.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/joint_abi.hpp"
#include "fit/joint/team.hpp"
#include "psf/axis.hpp"
#include "psf/model.hpp"

namespace glint::GLINT_ISA {

/// Columns [x0, x1) and rows [y0, y1) of the group's pixels.
struct Box {
    int x0, x1, y0, y1;
    GLINT_INLINE bool empty() const { return x0 >= x1 || y0 >= y1; }
};

GLINT_INLINE Box overlap(const Box& a, const Box& b) {
    return {most_of(a.x0, b.x0), least_of(a.x1, b.x1), most_of(a.y0, b.y0), least_of(a.y1, b.y1)};
}

GLINT_INLINE float reach_of(float widest_px) { return light_reach_widths * widest_px + light_reach_more_px; }

/// A molecule's box, with its profiles along both axes where the model is a product of two.
template <class Psf>
class EmitterImage {
  public:
    static constexpr int shapes = shape_parameters<Psf>;
    static constexpr int each = 3 + shapes;  // parameters: x, y, N, shape
    static constexpr int P = 4 + shapes;

    /// Floats that profiles take at most.
    static GLINT_INLINE int space(int pitch, int height) {
        return Psf::separable ? profiles * (pitch + rounded_up(height)) : 0;
    }

    /// Sets the image's size and the molecule at theta, which stays borrowed. `space`: space() floats, and 16 more that
    /// may be read. By one warp.
    GLINT_INLINE void place(const Psf& psf, const float* theta, int width, int height, float* space) {
        psf_ = &psf, theta_ = theta;
        Lane t[P];
        for (int k = 0; k < P; ++k) t[k] = splat(theta[k]);
        const Widths w = psf.widths(t + 4);
        widest_ = most_of(first_of(w.x), first_of(w.y));
        const float reach = reach_of(widest_);
        box_.x0 = within(floor_of(theta[0] - reach), 0, width);
        box_.y0 = within(floor_of(theta[1] - reach), 0, height);
        box_.x1 = within(floor_of(theta[0] + reach) + 2, 0, width);
        box_.y1 = within(floor_of(theta[1] + reach) + 2, 0, height);
        if (box_.empty()) return;
        const int columns = filled(box_.x1 - box_.x0), rows = rounded_up(box_.y1 - box_.y0);
        if constexpr (Psf::separable) {
            x_ = space, y_ = space + profiles * columns, columns_ = columns, rows_ = rows;
            // The first of two shape parameters is the width along x, the second the width along y.
            x_slope_ = shapes == 1 ? first_of(w.x_slope) : 1.0f, y_slope_ = shapes == 1 ? first_of(w.y_slope) : 1.0f;
            profile(t[0], w.x, box_.x0, columns, x_);
            profile(t[1], w.y, box_.y0, rows, y_);
        }
    }

    GLINT_INLINE const Box& box() const { return box_; }
    GLINT_INLINE float widest() const { return widest_; }

    /// Some columns, from column x of the image on: what does not change from row to row. Beyond the box and beyond
    /// `end` there is no light.
    struct Columns {
        Lane a, b, g;  // E, dE/dx, dE/dwidth (eq. 1.2)
        Lane at;       // columns of the image
    };
    GLINT_INLINE Columns columns(int x, int end) const {
        Columns c{};
        c.at = Team::offsets() + float(x);
        if constexpr (Psf::separable) {
            const Mask inside = c.at < float(end);
            const float* from = x_ + (x - box_.x0);
            c.a = select(inside, load(from), Lane{}), c.b = select(inside, load(from + columns_), Lane{});
            if constexpr (shapes > 0) c.g = select(inside, load(from + 2 * columns_), Lane{});
        }
        return c;
    }
    /// h in row y of the image.
    GLINT_INLINE Lane value(const Columns& c, int y, int end) const {
        if constexpr (Psf::separable) {
            return c.a * y_[y - box_.y0];
        } else {
            Lane slopes[2 + shapes];
            return any_value(c, y, end, slopes);
        }
    }
    /// Adds the light of so many photons to a plane of the image. Each member of a team writes to its own pixels alone.
    GLINT_INLINE void add_to(float* plane, float photons, const JointImage& image) const {
        const Box box = box_;  // stores might be to it, else
        if (box.empty()) return;
        const int pitch = image.pitch;
        const float* per_photon = image.per_photon;
        const EmitterImage self = *this;
        GLINT_ROLL
        for (int x = Team::column_from(box.x0); x < box.x1; x += Team::column_step) {
            const auto at = columns(x, box.x1);
            GLINT_ROLL
            for (int y = Team::row_from(box.y0); y < box.y1; y += Team::row_step) {
                const int p = y * pitch + x;
                store(plane + p, load(plane + p) + photons * load(per_photon + p) * self.value(at, y, box.x1));
            }
        }
    }
    /// The profiles along y in row y of the image: E, dE/dy, dE/dwidth.
    GLINT_INLINE void down(int y, float* out) const {
        GLINT_UNROLL
        for (int i = 0; i < profiles; ++i) out[i] = y_[y - box_.y0 + i * rows_];
    }
    /// Derivatives of N h with respect to x, y, N and the shape, if `down` contains the profiles along y. If `down`
    /// contains sums of the profiles over rows, the sums of the derivatives.
    GLINT_INLINE void slopes(const Columns& c, const Lane* down, Lane* out) const {
        const float n = theta_[2];
        out[0] = c.b * (n * down[0]), out[1] = c.a * (n * down[1]), out[2] = c.a * down[0];
        if constexpr (shapes > 0) {
            const Lane by_x = c.g * (n * x_slope_ * down[0]), by_y = c.a * (n * y_slope_ * down[2]);
            if constexpr (shapes == 1) out[3] = by_x + by_y;
            if constexpr (shapes == 2) out[3] = by_x, out[4] = by_y;
        }
    }
    /// The same in row y of the image.
    GLINT_INLINE void slopes_at(const Columns& c, int y, int end, Lane* out) const {
        if constexpr (Psf::separable) {
            float at[profiles];
            down(y, at);
            Lane in_row[profiles];
            for (int i = 0; i < profiles; ++i) in_row[i] = splat(at[i]);
            slopes(c, in_row, out);
        } else {
            Lane by[2 + shapes];
            out[2] = any_value(c, y, end, by);
            GLINT_UNROLL
            for (int k = 0; k < 2 + shapes; ++k) out[k < 2 ? k : k + 1] = theta_[2] * by[k];
        }
    }

    static constexpr int profiles = shapes > 0 ? 3 : 2;  // along each axis

  private:
    /// Writes the profiles of `count` pixels from `first` on, one after the other.
    static GLINT_INLINE void profile(Lane center, Lane width, int first, int count, float* to) {
        GLINT_ROLL
        for (int i = Warp::begin(); i < count; i += Warp::step) {
            const Lane at = Warp::offsets() + float(first + i);
            Lane value, by_center, by_width;
            AxisProfile<(shapes > 0)>(center, width, at).next_at(at, value, by_center, by_width);
            store(to + i, value), store(to + count + i, by_center);
            if constexpr (shapes > 0) store(to + 2 * count + i, by_width);
        }
    }
    /// For a model that is not a product: the position seen from each column.
    GLINT_INLINE Lane any_value(const Columns& c, int y, int end, Lane* by) const {
        Lane t[P];
        for (int k = 0; k < P; ++k) t[k] = splat(theta_[k]);
        t[0] -= c.at, t[1] -= float(y);
        const auto row = psf_->row(t, 0);
        const Mask inside = c.at < float(end);
        const Lane h = select(inside, row.at(0, by), Lane{});
        for (int k = 0; k < 2 + shapes; ++k) by[k] = select(inside, by[k], Lane{});
        return h;
    }

    const Psf* psf_;
    const float* theta_;
    Box box_;
    float widest_;
    float *x_, *y_;
    int columns_, rows_;
    float x_slope_, y_slope_;
};

/// Adds the light of `count` molecules, most_parameters each, to a plane of the image. `images`: room for `at_once`
/// images, with EmitterImage::space() floats of profiles for each.
template <class Psf>
GLINT_INLINE void add_lights(const Psf& psf, const float* thetas, int count, const JointImage& image,
                             EmitterImage<Psf>* images, float* profiles, int at_once, float* plane) {
    const ptrdiff_t space = EmitterImage<Psf>::space(image.pitch, image.height);
    for (int first = 0; first < count; first += at_once) {
        const float* these = thetas + ptrdiff_t(first) * most_parameters;
        const int some = least_of(at_once, count - first);
        GLINT_ROLL
        for (int k = Team::warp(); k < some; k += Team::warps)
            images[k].place(psf, these + k * most_parameters, image.width, image.height, profiles + k * space);
        Team::sync();
        for (int k = 0; k < some; ++k) images[k].add_to(plane, these[k * most_parameters + 2], image);
        Team::sync();
    }
}

}  // namespace glint::GLINT_ISA
