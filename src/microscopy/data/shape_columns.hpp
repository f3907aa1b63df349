// The columns of a table that a PSF model's shape parameters fill: sx, sy, z, and columns named after the parameters.
// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <span>
#include <vector>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "glint/localizations.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Fills these columns of a table, whose number of frames must be set. `shape`: a column for each shape parameter, as
/// Fits::theta from [4] on. sx and sy depend on all shape parameters.
template <class Real>
void fill_shape(Localizations& to, const Psf& psf, double pixel_size_nm, std::span<const std::vector<Real>> shape) {
    const std::span<const ShapeParameter> parameters = shape_parameters_of(psf.model);
    const PsfInDouble model(psf, pixel_size_nm);
    resize_large(to.sx_px, to.size()), resize_large(to.sy_px, to.size());
    constexpr std::size_t worth_a_thread = 1 << 16;  // rows
    const auto fill_widths = [&](const tbb::blocked_range<std::size_t>& rows) {
        for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
            double at[max_shape_parameters];
            for (std::size_t k = 0; k < parameters.size(); ++k) at[k] = shape[k][row];
            const PsfWidths widths = model.widths(at);
            to.sx_px[row] = float(widths.x_px), to.sy_px[row] = float(widths.y_px);
        }
    };
    if (to.size() <= worth_a_thread)
        fill_widths({0, to.size()});
    else
        in_own_arena(
            [&] { tbb::parallel_for(tbb::blocked_range<std::size_t>(0, to.size(), worth_a_thread), fill_widths); });
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        if (parameters[k].column == PsfColumn::own)
            to.extra[parameters[k].name].values.assign(shape[k].begin(), shape[k].end());
        else if (parameters[k].column == PsfColumn::z)
            for (const Real z_um : shape[k]) to.z_nm.push_back(float(z_um * 1000));
    }
}

}  // namespace glint
