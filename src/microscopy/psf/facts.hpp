// The description of a PSF model as plain constants, which g++ and nvcc both compile: parameters, units, columns,
// numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/numbers.hpp"

namespace glint {

constexpr int most_shape_parameters = 8;

/// Where a model's widths come from.
enum class PsfSource {
    sigma,        ///< one width in the sample: --sigma 130nm
    calibration,  ///< the widths over z: --calibration FILE
    table         ///< coefficients: --calibration FILE with a section [table]
};

/// The columns of a localization table that a parameter and its uncertainty fill.
enum class PsfColumn {
    own,      ///< a column of the parameter's name, and NAME_unc
    width,    ///< both widths: uncertainties of sx and sy
    width_x,  ///< sx
    width_y,  ///< sy
    z         ///< z, in micrometres
};

/// A fitted parameter besides x, y, photons and bg.
struct ShapeParameter {
    const char* name = nullptr;
    const char* unit = "";  ///< "px", "um", or none
    PsfColumn column = PsfColumn::own;
};

/// A model-specific number that the user gives, as in --psf-number ratio=1.2.
struct OwnNumber {
    const char* name = nullptr;
    double usual = 0, low = 0, high = 0;  ///< its default, and the limits of valid values
    const char* meaning = "";
};

/// The description itself; a static constant of each model.
struct PsfFacts {
    const char* about;  ///< for the help, e.g. "one free width"
    PsfSource source = PsfSource::sigma;
    ShapeParameter shape[most_shape_parameters] = {};
    OwnNumber numbers[most_own_numbers] = {};
    int least_edges[4] = {1, 1, 1, 1};  ///< of a table that the model can read
};

/// The part of a spot's light that lies within its extent.
enum class PsfPart {
    most,        ///< 96 % of a spot that is centred in its window
    nearly_all,  ///< all but less than 1 photon in 1000
    all
};

/// The extent of a Gaussian of width 1.
constexpr double gaussian_extent(PsfPart part) {
    return part == PsfPart::most ? 2.3 : part == PsfPart::nearly_all ? 3.5 : 6;
}

/// Number of leading elements with a name.
template <class Named, int most>
constexpr int count_of(const Named (&list)[most]) {
    int count = 0;
    while (count < most && list[count].name) ++count;
    return count;
}

/// Whether all parameters of a shape are widths.
template <int most>
constexpr bool has_widths_only(const ShapeParameter (&shape)[most]) {
    for (int k = 0; k < count_of(shape); ++k)
        if (shape[k].column == PsfColumn::own || shape[k].column == PsfColumn::z) return false;
    return true;
}

}  // namespace glint
