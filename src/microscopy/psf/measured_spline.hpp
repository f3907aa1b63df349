// What SplineXYNB and SplineXYZNB share: a measured PSF as a tensor product of cubic B-splines (Babcock & Zhuang, Sci.
// Rep. 7, 552 (2017); Li et al., Nat. Methods 15, 367 (2018); theory.md, section 1).
//
// The table's indices are z, y, x, with table.samples coefficients a pixel along x and y. Its middle is the molecule.
// The range of z begins at index 1 and ends at the last index but one; in 2D there is one plane. Outside of the table,
// the outermost coefficients continue.
//
// A table may have several cells, for a PSF that changes over the field. Each element of a Lane reads one cell: the
// first, unless choose_cell() was called.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

/// `planes`: how many planes of coefficients overlap at any z: 4, or 1 in 2D, where nothing depends on z.
template <int planes>
struct MeasuredSpline : AnyShape {
    static constexpr bool has_z = planes > 1;
    static constexpr int slopes_count = has_z ? 3 : 2;  // by x, y and z
    static constexpr Scalar min_h = Scalar(1e-12);      // a spline may swing below 0
    static constexpr int max_roi = 31, max_samples = 2;

    IntLane first_plane{};  // of the cell, counted from the first plane of the table

    GLINT_INLINE MeasuredSpline(const PsfNumbers<Scalar>& numbers) : AnyShape{numbers} {}

    /// Sets the cell that contains a place of the movie, px, or the nearest one.
    GLINT_INLINE void choose_cell(Lane x_px, Lane y_px) {
        const PsfTableView& table = psf.table;
        const IntLane column = cell_along(x_px - Scalar(table.left_px), table.cells_per_px, table.cells_x),
                      row = cell_along(y_px - Scalar(table.top_px), table.cells_per_px, table.cells_y);
        first_plane = (row * table.cells_x + column) * table.shape[0];
    }
    GLINT_INLINE static IntLane cell_along(Lane from_first_px, float cells_per_px, int cells) {
        return index(from_first_px * Scalar(cells_per_px), cells);
    }

    GLINT_INLINE Widths widths(const Lane*) const {
        return {splat(psf.table.width_px), splat(psf.table.width_px), Lane{}, Lane{}};
    }
    /// Half the edge of the square that the table describes, px. There is no light beyond it.
    GLINT_INLINE Scalar reach_px() const {
        const int edge = psf.table.shape[1] > psf.table.shape[2] ? psf.table.shape[1] : psf.table.shape[2];
        return Scalar(0.5) * Scalar(edge - 4) / Scalar(psf.table.samples);
    }
    /// Half the edge of a square that contains most of a spot, px.
    GLINT_INLINE int spot_radius() const { return int(2 * psf.table.width_px + Scalar(0.5)); }

    /// The four cubic B-splines that are not 0 at a place between two coefficients, and their slopes. `t`: the fraction
    /// of the interval, 0 to 1.
    struct Weights {
        Lane value[4], slope[4];

        GLINT_INLINE explicit Weights(Lane t) {
            const Lane s = 1.0f - t;
            value[0] = s * s * s * Scalar(1.0 / 6), slope[0] = -0.5f * s * s;
            value[1] = (t * t * (3.0f * t - 6.0f) + 4.0f) * Scalar(1.0 / 6), slope[1] = t * (1.5f * t - 2.0f);
            value[2] = (s * s * (3.0f * s - 6.0f) + 4.0f) * Scalar(1.0 / 6), slope[2] = -s * (1.5f * s - 2.0f);
            value[3] = t * t * t * Scalar(1.0 / 6), slope[3] = 0.5f * t * t;
        }
    };

    /// The weights of the planes, and their slopes.
    struct Depth {
        Lane value[planes], slope[planes];

        GLINT_INLINE explicit Depth(Lane t) {
            if constexpr (has_z) {
                const Weights weights(t);
                for (int k = 0; k < planes; ++k) value[k] = weights.value[k], slope[k] = weights.slope[k];
            } else {
                value[0] = splat(1.0f), slope[0] = Lane{};
            }
        }
    };

    /// A coordinate on the grid of coefficients: the index of the first of four coefficients, and the fraction.
    struct Place {
        Lane first, fraction;

        /// NaN becomes the first place.
        GLINT_INLINE explicit Place(Lane u) {
            // Far outside the table, which has at most 1,000 coefficients along an edge, all places are equal.
            const Lane inside = clamp(u, splat(-1000.0f), splat(4000.0f));
            const Lane towards_zero = to_float(to_int(inside));
            const Lane cell = select(towards_zero > inside, towards_zero - 1.0f, towards_zero);
            first = cell - 1.0f, fraction = inside - cell;
        }
    };

    GLINT_INLINE static IntLane index(Lane at, int edge) {
        return to_int(clamp(at, splat(0.0f), splat(Scalar(edge - 1))));
    }

    /// The molecule on the grid of coefficients.
    struct Axes {
        Place x, z;
        Lane y;               // of pixel row 0
        IntLane first_plane;  // of the four
        Scalar z_per_um;

        GLINT_INLINE Axes(const MeasuredSpline& model, const Lane* theta)
            : x(0.5f * Scalar(model.psf.table.shape[2] - 1) - Scalar(model.psf.table.samples) * theta[0]),
              z(place_along_z(model.psf, theta)),
              y(0.5f * Scalar(model.psf.table.shape[1] - 1) - Scalar(model.psf.table.samples) * theta[1]),
              first_plane(to_int(z.first) + model.first_plane),
              z_per_um(planes_per_um(model.psf)) {}
        GLINT_INLINE static Place place_along_z(const PsfNumbers<Scalar>& psf, const Lane* theta) {
            if constexpr (has_z) {
                Place z(clamp(1.0f + (theta[4] - psf.z_min_um) * planes_per_um(psf), splat(1.0f),
                              splat(Scalar(psf.table.shape[0] - 2))));
                // At the end of the range the fraction is 1, of the interval before.
                const Lane last = splat(Scalar(psf.table.shape[0] - 4));
                z.fraction = select(z.first > last, splat(1.0f), z.fraction), z.first = min(z.first, last);
                return z;
            } else {
                return Place(splat(1.0f));
            }
        }
        GLINT_INLINE static Scalar planes_per_um(const PsfNumbers<Scalar>& psf) {
            return has_z ? Scalar(psf.table.shape[0] - 3) / (psf.z_max_um - psf.z_min_um) : Scalar(0);
        }
        GLINT_INLINE Place row(const PsfTableView& table, int j) const { return Place(y + Scalar(j * table.samples)); }
        /// Where a row of the table begins in the first of four planes.
        GLINT_INLINE IntLane line(const PsfTableView& table, Lane at) const {
            return (first_plane * table.shape[1] + index(at, table.shape[1])) * table.shape[2];
        }
    };

    /// One row of pixels. at() is called for ascending columns, each once, from any first one on.
    struct Row {
        PsfTableView table;
        Weights along, down;
        Depth deep;
        Lane first_column;
        IntLane lines[4];  // of the table, at the first of the planes
        Scalar z_per_um;
        int next = -1;  // the column of the table that follows `value`, counted from first_column
        Lane value[4]{}, by_y[4]{}, by_z[4]{};  // of four columns of the table

        /// Sums over four rows of four planes: a column of the table.
        GLINT_INLINE void add_column(Lane at) {
            const IntLane column = index(at, table.shape[2]);
            const int plane = table.shape[1] * table.shape[2];
            for (int m = 0; m < 3; ++m) value[m] = value[m + 1], by_y[m] = by_y[m + 1], by_z[m] = by_z[m + 1];
            value[3] = by_y[3] = by_z[3] = Lane{};
            for (int j = 0; j < 4; ++j) {
                Lane sum{}, slope{};
                for (int k = 0; k < planes; ++k) {
                    const Lane c = lookup(table.values, lines[j] + column + k * plane);
                    sum += c * deep.value[k], slope += c * deep.slope[k];
                }
                value[3] += down.value[j] * sum, by_y[3] += down.slope[j] * sum, by_z[3] += down.value[j] * slope;
            }
        }
        GLINT_INLINE Lane at(int i, Lane* slopes) {
            const int from = i * table.samples;
            if (next < 0) next = from;
            for (; next < from + 4; ++next) add_column(first_column + Scalar(next));
            Lane h{}, by_x{}, sum_y{}, sum_z{};
            for (int m = 0; m < 4; ++m) {
                h += value[m] * along.value[m], by_x += value[m] * along.slope[m];
                sum_y += by_y[m] * along.value[m], sum_z += by_z[m] * along.value[m];
            }
            const Scalar per_px = -Scalar(table.samples);
            slopes[0] = per_px * by_x, slopes[1] = per_px * sum_y;
            if constexpr (has_z) slopes[2] = z_per_um * sum_z;
            return max(h, splat(min_h));
        }
    };
    GLINT_INLINE Row row(const Lane* theta, int j) const {
        const Axes axes(*this, theta);
        const Place y = axes.row(psf.table, j);
        Row row{psf.table,    Weights(axes.x.fraction), Weights(y.fraction), Depth(axes.z.fraction), axes.x.first, {},
                axes.z_per_um};
        for (int m = 0; m < 4; ++m) row.lines[m] = axes.line(psf.table, y.first + Scalar(m));
        return row;
    }

#if !defined(GLINT_SCALAR_LANE)
    /// Rows of pixels from row 0 on, for SIMD: each row of the table is read and summed over z once, and kept for the
    /// four rows of pixels that need it.
    template <bool with_slopes>
    class Rows {
        static constexpr int columns = max_roi * max_samples + 4;

        PsfTableView table_;
        Axes axes_;
        Weights along_, down_;
        Depth deep_;
        Lane first_row_;
        int width_, next_ = 0;     // columns in use; the row of the table, from first_row_, that is read next
        IntLane column_[columns];  // of the table
        Lane value_[4][columns], by_z_[4][columns];  // four rows of the table, at their number modulo 4
        Lane h_[columns], h_y_[columns], h_z_[columns];

      public:
        GLINT_INLINE Rows(const MeasuredSpline& psf, const Lane* theta, int size)
            : table_(psf.psf.table),
              axes_(psf, theta),
              along_(axes_.x.fraction),
              down_(axes_.row(table_, 0).fraction),
              deep_(axes_.z.fraction),
              first_row_(axes_.row(table_, 0).first),
              width_((size - 1) * table_.samples + 4) {
            for (int i = 0; i < width_; ++i) column_[i] = index(axes_.x.first + Scalar(i), table_.shape[2]);
        }
        struct Row {
            const Rows& rows;
            GLINT_INLINE Lane at(int i, Lane* slopes) const { return rows.at(i, slopes); }
        };
        /// Row j of pixels, to be called with 0, 1, 2, ...
        GLINT_INLINE Row next(int j) {
            const int from = j * table_.samples;
            for (; next_ < from + 4; ++next_) read_row();
            const Lane *v[4], *z[4];
            for (int m = 0; m < 4; ++m) v[m] = value_[(from + m) % 4], z[m] = by_z_[(from + m) % 4];
            for (int i = 0; i < width_; ++i) {
                h_[i] = v[0][i] * down_.value[0] + v[1][i] * down_.value[1] + v[2][i] * down_.value[2] +
                        v[3][i] * down_.value[3];
                if constexpr (!with_slopes) continue;
                h_y_[i] = v[0][i] * down_.slope[0] + v[1][i] * down_.slope[1] + v[2][i] * down_.slope[2] +
                          v[3][i] * down_.slope[3];
                if constexpr (has_z)
                    h_z_[i] = z[0][i] * down_.value[0] + z[1][i] * down_.value[1] + z[2][i] * down_.value[2] +
                              z[3][i] * down_.value[3];
            }
            return {*this};
        }

      private:
        GLINT_INLINE void read_row() {
            const IntLane line = axes_.line(table_, first_row_ + Scalar(next_));
            const float* values = table_.values;
            const int plane = table_.shape[1] * table_.shape[2], to = next_ % 4;
            for (int i = 0; i < width_; ++i) {
                Lane sum{}, slope{};
                GLINT_UNROLL
                for (int k = 0; k < planes; ++k) {
                    const Lane c = lookup(values + k * plane, line + column_[i]);
                    sum += c * deep_.value[k];
                    if constexpr (with_slopes && has_z) slope += c * deep_.slope[k];
                }
                value_[to][i] = sum;
                if constexpr (with_slopes && has_z) by_z_[to][i] = slope;
            }
        }
        GLINT_INLINE Lane at(int i, Lane* slopes) const {
            const int from = i * table_.samples;
            const Lane *v = h_ + from, *y = h_y_ + from, *z = h_z_ + from;
            const Lane *w = along_.value, *u = along_.slope;
            if constexpr (with_slopes) {
                const Scalar per_px = -Scalar(table_.samples);
                slopes[0] = per_px * (v[0] * u[0] + v[1] * u[1] + v[2] * u[2] + v[3] * u[3]);
                slopes[1] = per_px * (y[0] * w[0] + y[1] * w[1] + y[2] * w[2] + y[3] * w[3]);
                if constexpr (has_z)
                    slopes[2] = axes_.z_per_um * (z[0] * w[0] + z[1] * w[1] + z[2] * w[2] + z[3] * w[3]);
            }
            return max(v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3], splat(min_h));
        }
    };
    template <bool with_slopes>
    GLINT_INLINE Rows<with_slopes> rows(const Lane* theta, int size) const {
        return Rows<with_slopes>(*this, theta, size);
    }

#if !defined(GLINT_DOUBLE_LANE)
    /// Writes h and its derivatives by x, y and z of one molecule in a box of pixels: planes of `rows` rows of `pitch`
    /// floats each. `theta`: x and y relative to the box's first pixel, the same in all elements. Sums over z
    /// and x are made once for each row of the table, and used by the four rows of pixels that need them.
    GLINT_INLINE void draw(const Lane* theta, int columns, int rows, int pitch, float* to) const {
        for (int first = 0; first < columns; first += max_roi) {
            const int count = columns - first < max_roi ? columns - first : max_roi;
            Lane t[2 + slopes_count];
            for (int k = 0; k < 2 + slopes_count; ++k) t[k] = theta[k];
            t[0] -= float(first);
            if (psf.table.samples == 1)
                Drawing<1>(*this, t, count).draw(rows, pitch, rows * pitch, to + first);
            else
                Drawing<2>(*this, t, count).draw(rows, pitch, rows * pitch, to + first);
        }
    }

  private:
    template <int samples>
    class Drawing {
        static constexpr int max_columns = max_roi * samples + 4;

        PsfTableView table_;
        float along_[4], along_slope_[4], down_[4], down_slope_[4], deep_[planes], deep_slope_[planes];
        float z_per_um_;
        int columns_, first_column_, first_row_, first_plane_;
        float h_[4][max_roi], by_x_[4][max_roi], by_z_[4][max_roi];  // four rows of the table, at their number modulo 4

        static GLINT_INLINE void take(const Weights& from, float* value, float* slope) {
            for (int m = 0; m < 4; ++m) value[m] = from.value[m][0], slope[m] = from.slope[m][0];
        }

      public:
        GLINT_INLINE Drawing(const MeasuredSpline& psf, const Lane* theta, int columns)
            : table_(psf.psf.table), columns_(columns) {
            const Axes axes(psf, theta);
            const Place y = axes.row(table_, 0);
            take(Weights(axes.x.fraction), along_, along_slope_), take(Weights(y.fraction), down_, down_slope_);
            const Depth deep(axes.z.fraction);
            for (int k = 0; k < planes; ++k) deep_[k] = deep.value[k][0], deep_slope_[k] = deep.slope[k][0];
            z_per_um_ = axes.z_per_um;
            first_column_ = int(axes.x.first[0]), first_row_ = int(y.first[0]), first_plane_ = axes.first_plane[0];
        }

        GLINT_INLINE void draw(int rows, int pitch, int plane, float* to) {
            for (int row = 0, next = 0; row < rows; ++row, to += pitch) {
                for (; next < row * samples + 4; ++next) read_row(next);
                constexpr float per_px = -float(samples);
                const float *w = down_, *u = down_slope_;
                const int a = row * samples % 4, b = (a + 1) % 4, c = (a + 2) % 4, d = (a + 3) % 4;
                for (int i = 0; i < columns_; ++i) {
                    const float h = h_[a][i] * w[0] + h_[b][i] * w[1] + h_[c][i] * w[2] + h_[d][i] * w[3];
                    to[i] = h > min_h ? h : min_h;
                    to[i + plane] =
                        per_px * (by_x_[a][i] * w[0] + by_x_[b][i] * w[1] + by_x_[c][i] * w[2] + by_x_[d][i] * w[3]);
                    to[i + 2 * plane] =
                        per_px * (h_[a][i] * u[0] + h_[b][i] * u[1] + h_[c][i] * u[2] + h_[d][i] * u[3]);
                    if constexpr (has_z)
                        to[i + 3 * plane] = z_per_um_ * (by_z_[a][i] * w[0] + by_z_[b][i] * w[1] + by_z_[c][i] * w[2] +
                                                         by_z_[d][i] * w[3]);
                }
            }
        }

      private:
        static GLINT_INLINE int within(int a, int low, int high) { return a < low ? low : a > high ? high : a; }

        /// Reads a row of the table, counted from the first one, and sums it over z and x.
        GLINT_INLINE void read_row(int number) {
            const int width = table_.shape[2], row = within(first_row_ + number, 0, table_.shape[1] - 1);
            const int count = (columns_ - 1) * samples + 4;
            // Left and right of the table, its outermost coefficients continue.
            const int begin = within(-first_column_, 0, count), end = within(width - first_column_, begin, count);
            const int plane = table_.shape[1] * width;
            const float* line = table_.values + first_plane_ * plane + row * width;
            float value[max_columns], slope[max_columns];
            const auto sum = [&](int i, int column) {
                const float* c = line + column;
                if constexpr (has_z) {
                    const float c0 = c[0], c1 = c[plane], c2 = c[2 * plane], c3 = c[3 * plane];
                    value[i] = c0 * deep_[0] + c1 * deep_[1] + c2 * deep_[2] + c3 * deep_[3];
                    slope[i] = c0 * deep_slope_[0] + c1 * deep_slope_[1] + c2 * deep_slope_[2] + c3 * deep_slope_[3];
                } else {
                    value[i] = c[0];
                }
            };
            for (int i = 0; i < begin; ++i) sum(i, 0);
            for (int i = begin; i < end; ++i) sum(i, first_column_ + i);
            for (int i = end; i < count; ++i) sum(i, width - 1);
            const int to = number % 4;
            const float *w = along_, *u = along_slope_;
            for (int i = 0; i < columns_; ++i) {
                const float* v = value + i * samples;
                h_[to][i] = v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3];
                by_x_[to][i] = v[0] * u[0] + v[1] * u[1] + v[2] * u[2] + v[3] * u[3];
                if constexpr (has_z) {
                    const float* z = slope + i * samples;
                    by_z_[to][i] = z[0] * w[0] + z[1] * w[1] + z[2] * w[2] + z[3] * w[3];
                }
            }
        }
    };
#endif
#endif
};

}  // namespace glint::GLINT_ISA
