// The columns of a table that the shape parameters of a PSF model fill: sx, sy, z, and columns of their own names.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "glint/localizations.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Fills these columns of a table whose frames are there already. `shape`: a column for each shape parameter, as
/// Fits::theta from [4] on. sx and sy depend on all of them.
template <class Real>
void fill_shape(Localizations& to, const Psf& psf, double pixel_size_um, std::span<const std::vector<Real>> shape) {
    const std::span<const ShapeParameter> parameters = shape_parameters_of(psf.model);
    const PsfInDouble model(psf, pixel_size_um);
    to.sx_px.resize(to.size()), to.sy_px.resize(to.size());
    for (std::size_t row = 0; row < to.size(); ++row) {
        double at[most_shape_parameters];
        for (std::size_t k = 0; k < parameters.size(); ++k) at[k] = shape[k][row];
        const PsfWidths widths = model.widths(at);
        to.sx_px[row] = float(widths.x_px), to.sy_px[row] = float(widths.y_px);
    }
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        if (parameters[k].column == PsfColumn::own)
            to.extra[parameters[k].name].values.assign(shape[k].begin(), shape[k].end());
        else if (parameters[k].column == PsfColumn::z)
            for (const Real z_um : shape[k]) to.z_nm.push_back(float(z_um * 1000));
    }
}

}  // namespace glint
