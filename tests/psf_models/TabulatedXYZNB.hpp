// TabulatedXYZNB: a PSF as a table of coefficients of cubic B-splines, two per pixel along x and y. A model for tests
// of tables. The table's indices are z, y, x. The molecule is in the middle; the first and the last interval of z are
// beyond the range.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/model.hpp"

namespace glint::GLINT_ISA {

struct TabulatedXYZNB : AnyShape {
    static constexpr PsfFacts facts{.about = "z by a table",
                                    .source = PsfSource::table,
                                    .shape = {{"z", "um", PsfColumn::z}},
                                    .numbers = {{"width", 1.5, 0.3, 8, "the typical width, px"}},
                                    .min_edges = {4, 4, 4, 1}};
    static constexpr int start_candidates = 5;

    GLINT_INLINE Widths widths(const Lane*) const { return {splat(psf.own[0]), splat(psf.own[0]), Lane{}, Lane{}}; }
    GLINT_INLINE void start(int k, Lane* shape) const {
        shape[0] = splat(psf.z_min_um + (float(k) + 0.5f) * (psf.z_max_um - psf.z_min_um) / start_candidates);
    }
    GLINT_INLINE Interval bounds(int) const { return {splat(psf.z_min_um), splat(psf.z_max_um)}; }
    GLINT_INLINE Lane step_limit(int, const Lane*) const { return splat(0.1f * (psf.z_max_um - psf.z_min_um)); }
    GLINT_INLINE void typical(Lane z_um, Lane* shape) const { shape[0] = z_um; }

    /// The four cubic B-splines that are not 0 at a position, their derivatives there, and the index of the first.
    struct Spline {
        IntLane first;
        Lane weights[4], slopes[4];

        /// At index u of a table of `edge` coefficients.
        GLINT_INLINE Spline(Lane u, int edge) {
            const Lane inside = clamp(u, splat(1.0f), splat(Scalar(edge - 3) + 0.999f));
            const IntLane cell = to_int(inside);  // towards zero; inside >= 1
            const Lane t = inside - to_float(cell), s = 1.0f - t;
            first = cell - 1;
            weights[0] = s * s * s * Scalar(1.0 / 6), slopes[0] = -0.5f * s * s;
            weights[1] = (t * t * (3.0f * t - 6.0f) + 4.0f) * Scalar(1.0 / 6), slopes[1] = t * (1.5f * t - 2.0f);
            weights[2] = (s * s * (3.0f * s - 6.0f) + 4.0f) * Scalar(1.0 / 6), slopes[2] = -s * (1.5f * s - 2.0f);
            weights[3] = t * t * t * Scalar(1.0 / 6), slopes[3] = 0.5f * t * t;
        }
    };

    struct Row {
        PsfTableView table;
        Lane x;
        Spline y, z;
        Scalar z_per_um;

        GLINT_INLINE Lane at(int i, Lane* slopes) const {
            const Spline along(2.0f * (float(i) - x) + 0.5f * Scalar(table.shape[2] - 1), table.shape[2]);
            Lane h{}, by_x{}, by_y{}, by_z{};
            for (int k = 0; k < 4; ++k)
                for (int j = 0; j < 4; ++j) {
                    const IntLane line = ((z.first + k) * table.shape[1] + y.first + j) * table.shape[2] + along.first;
                    Lane sum{}, slope{};
                    for (int m = 0; m < 4; ++m) {
                        const Lane c = lookup(table.values, line + m);
                        sum = sum + c * along.weights[m], slope = slope + c * along.slopes[m];
                    }
                    h = h + z.weights[k] * y.weights[j] * sum;
                    by_x = by_x + z.weights[k] * y.weights[j] * slope;
                    by_y = by_y + z.weights[k] * y.slopes[j] * sum;
                    by_z = by_z + z.slopes[k] * y.weights[j] * sum;
                }
            slopes[0] = -2.0f * by_x, slopes[1] = -2.0f * by_y, slopes[2] = z_per_um * by_z;
            return max(h, splat(Scalar(1e-12)));  // a spline may become negative
        }
    };
    GLINT_INLINE Row row(const Lane* theta, int j) const {
        const PsfTableView& t = psf.table;
        const Scalar z_per_um = Scalar(t.shape[0] - 3) / (psf.z_max_um - psf.z_min_um);
        return {t,
                theta[0],
                {2.0f * (float(j) - theta[1]) + 0.5f * Scalar(t.shape[1] - 1), t.shape[1]},
                {1.0f + (theta[4] - psf.z_min_um) * z_per_um, t.shape[0]},
                z_per_um};
    }
};

}  // namespace glint::GLINT_ISA
