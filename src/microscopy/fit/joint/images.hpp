// The images of the molecules of a group: a box of pixels for each molecule, with the model and its derivatives there.
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
    return {max_of(a.x0, b.x0), min_of(a.x1, b.x1), max_of(a.y0, b.y0), min_of(a.y1, b.y1)};
}

/// Returns how far from its centre a molecule's light counts, px.
template <class Psf>
GLINT_INLINE float reach_of(const Psf& psf, float widest_px) {
    if constexpr (requires { psf.reach_px(); })
        return psf.reach_px();
    else
        return light_reach_widths * widest_px + light_reach_more_px;
}

/// A molecule's box. With it: its profiles along both axes if the model is a product of two profiles, else the values
/// and derivatives of the model in the box's pixels.
template <class Psf>
class EmitterImage {
  public:
    static constexpr int shapes = shape_parameters<Psf>;
    static constexpr int each = 3 + shapes;  // parameters: x, y, N, shape
    static constexpr int P = 4 + shapes;

    /// Returns the maximum number of floats of the profiles, or of the planes.
    static GLINT_INLINE int space(int pitch, int height) {
        return Psf::separable ? profiles * (pitch + rounded_up(height)) : planes * pitch * height;
    }

    /// Sets the image's size and the molecule at theta, which must outlive the image. `space`: space() floats, plus 16
    /// that may be read. Called by one warp.
    GLINT_INLINE void place(const Psf& psf, const float* theta, int width, int height, float* space) {
        theta_ = theta;
        Lane t[P];
        for (int k = 0; k < P; ++k) t[k] = splat(theta[k]);
        const Widths w = psf.widths(t + 4);
        widest_ = max_of(first_of(w.x), first_of(w.y));
        const float reach = reach_of(psf, widest_);
        box_.x0 = within(floor_of(theta[0] - reach), 0, width);
        box_.y0 = within(floor_of(theta[1] - reach), 0, height);
        box_.x1 = within(floor_of(theta[0] + reach) + 2, 0, width);
        box_.y1 = within(floor_of(theta[1] + reach) + 2, 0, height);
        if (box_.empty()) return;
        columns_ = filled(box_.x1 - box_.x0);
        if constexpr (Psf::separable) {
            const int columns = columns_, rows = rounded_up(box_.y1 - box_.y0);
            x_ = space, y_ = space + profiles * columns, rows_ = rows;
            // The first of two shape parameters is the width along x, the second the width along y.
            x_slope_ = shapes == 1 ? first_of(w.x_slope) : 1.0f, y_slope_ = shapes == 1 ? first_of(w.y_slope) : 1.0f;
            profile(t[0], w.x, box_.x0, columns, x_);
            profile(t[1], w.y, box_.y0, rows, y_);
        } else {
            x_ = space, rows_ = box_.y1 - box_.y0;
            draw(psf, t);
        }
    }

    GLINT_INLINE const Box& box() const { return box_; }
    GLINT_INLINE float widest() const { return widest_; }

    /// Values of some columns, from column x of the image on, that are the same for all rows. Beyond the box and beyond
    /// `end` there is no light.
    struct Columns {
        Lane a, b, g;  // E, dE/dx, dE/dwidth (eq. 1.2) of a product
        Lane at;       // columns of the image
        Mask inside;
        const float* from;  // the first row of these columns
    };
    GLINT_INLINE Columns columns(int x, int end) const {
        Columns c{};
        c.at = Team::offsets() + float(x);
        c.inside = c.at < float(end);
        c.from = x_ + (x - box_.x0);
        if constexpr (Psf::separable) {
            c.a = select(c.inside, load(c.from), Lane{}), c.b = select(c.inside, load(c.from + columns_), Lane{});
            if constexpr (shapes > 0) c.g = select(c.inside, load(c.from + 2 * columns_), Lane{});
        }
        return c;
    }
    /// Returns h in row y of the image.
    GLINT_INLINE Lane value(const Columns& c, int y) const {
        if constexpr (Psf::separable) {
            return c.a * y_[y - box_.y0];
        } else {
            return select(c.inside, load(c.from + (y - box_.y0) * columns_), Lane{});
        }
    }
    /// Adds the light of `photons` photons to a plane of the image. Each member of a team writes only to its own
    /// pixels.
    GLINT_INLINE void add_to(float* plane, float photons, const JointImage& image) const {
        const Box box = box_;  // a local copy: the compiler must assume that stores change the member
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
                store(plane + p, load(plane + p) + photons * load(per_photon + p) * self.value(at, y));
            }
        }
    }
    /// Computes the profiles along y in row y of the image: E, dE/dy, dE/dwidth.
    GLINT_INLINE void down(int y, float* out) const {
        GLINT_UNROLL
        for (int i = 0; i < profiles; ++i) out[i] = y_[y - box_.y0 + i * rows_];
    }
    /// Computes derivatives of N h with respect to x, y, N and the shape, if `down` contains the profiles along y. If
    /// `down` contains sums of the profiles over rows, computes the sums of the derivatives.
    GLINT_INLINE void slopes(const Columns& c, const Lane* down, Lane* out) const {
        const float n = theta_[2];
        out[0] = c.b * (n * down[0]), out[1] = c.a * (n * down[1]), out[2] = c.a * down[0];
        if constexpr (shapes > 0) {
            const Lane by_x = c.g * (n * x_slope_ * down[0]), by_y = c.a * (n * y_slope_ * down[2]);
            if constexpr (shapes == 1) out[3] = by_x + by_y;
            if constexpr (shapes == 2) out[3] = by_x, out[4] = by_y;
        }
    }
    /// Like slopes(), in row y of the image.
    GLINT_INLINE void slopes_at(const Columns& c, int y, Lane* out) const {
        if constexpr (Psf::separable) {
            float at[profiles];
            down(y, at);
            Lane in_row[profiles];
            for (int i = 0; i < profiles; ++i) in_row[i] = splat(at[i]);
            slopes(c, in_row, out);
        } else {
            const float *from = c.from + (y - box_.y0) * columns_, n = theta_[2];
            const int plane = rows_ * columns_;
            GLINT_UNROLL
            for (int k = 0; k < each; ++k)
                out[k] = select(c.inside, k == 2 ? load(from) : n * load(from + (k < 2 ? k + 1 : k) * plane), Lane{});
        }
    }

    static constexpr int profiles = shapes > 0 ? 3 : 2;  // along each axis
    static constexpr int planes = each;                  // of h, and of its derivatives by x, y and the shape

  private:
    /// Writes the profiles of `count` adjacent pixels from `first` on.
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
    /// Writes the planes of a model that is not a product, for the molecule at t. Called by one warp.
    GLINT_INLINE void draw(const Psf& psf, const Lane* t) {
        if constexpr (requires { psf.draw(t, 0, 0, 0, x_); }) {
            Lane at[P];
            for (int k = 0; k < P; ++k) at[k] = t[k];
            at[0] -= float(box_.x0), at[1] -= float(box_.y0);
            psf.draw(at, columns_, rows_, columns_, x_);
        } else {
            draw_by_pixels(psf, t);
        }
    }
    GLINT_INLINE void draw_by_pixels(const Psf& psf, const Lane* t) {
        const int plane = rows_ * columns_;
        GLINT_ROLL
        for (int x = Warp::column(); x < columns_; x += Warp::column_step) {
            GLINT_ROLL
            for (int y = Warp::row(); y < rows_; y += Warp::row_step) {
                Lane at[P], by[2 + shapes];
                for (int k = 0; k < P; ++k) at[k] = t[k];
                at[0] -= Team::offsets() + float(box_.x0 + x), at[1] -= float(box_.y0 + y);
                float* to = x_ + (y * columns_ + x);
                store(to, psf.row(at, 0).at(0, by));
                GLINT_UNROLL
                for (int k = 0; k < 2 + shapes; ++k) store(to + (k + 1) * plane, by[k]);
            }
        }
    }

    const float* theta_;
    Box box_;
    float widest_;
    float *x_, *y_;  // profiles; or x_: planes of rows_ by columns_
    int columns_, rows_;
    float x_slope_, y_slope_;
};

/// Adds the light of `count` molecules, max_psf_parameters each, to a plane of the image. `images`: room for `at_once`
/// images, with EmitterImage::space() floats of profiles for each.
template <class Psf>
GLINT_INLINE void add_lights(const Psf& psf, const float* thetas, int count, const JointImage& image,
                             EmitterImage<Psf>* images, float* profiles, int at_once, float* plane) {
    const ptrdiff_t space = EmitterImage<Psf>::space(image.pitch, image.height);
    for (int first = 0; first < count; first += at_once) {
        const float* these = thetas + ptrdiff_t(first) * max_psf_parameters;
        const int some = min_of(at_once, count - first);
        GLINT_ROLL
        for (int k = Team::warp(); k < some; k += Team::warps)
            images[k].place(psf, these + k * max_psf_parameters, image.width, image.height, profiles + k * space);
        Team::sync();
        for (int k = 0; k < some; ++k) images[k].add_to(plane, these[k * max_psf_parameters + 2], image);
        Team::sync();
    }
}

}  // namespace glint::GLINT_ISA
