// The description of a PSF model as plain constants, for both g++ and nvcc: parameters, units, columns, numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/numbers.hpp"

namespace glint {

constexpr int max_shape_parameters = 8;

/// Source of a model's widths.
enum class PsfSource {
    sigma,        ///< a given width in the sample: --sigma 130nm
    calibration,  ///< widths over z: --calibration FILE
    table         ///< coefficients: --calibration FILE with a section [table]
};

/// The localization table's columns for a parameter and its uncertainty.
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
    double default_value = 0, min = 0, max = 0;  ///< its default, minimum and maximum
    const char* description = "";
};

/// The description of a model; a static constant of each model.
struct PsfFacts {
    const char* about;  ///< for the help, e.g. "one free width"
    PsfSource source = PsfSource::sigma;
    ShapeParameter shape[max_shape_parameters] = {};
    OwnNumber numbers[max_own_numbers] = {};
    int max_edges[4] = {1 << 24, 1 << 24, 1 << 24, 1 << 24};  ///< of a table that the model can read
    int min_edges[4] = {1, 1, 1, 1};                          ///< minimum edges of a table that the model can read
};

/// The part of a spot's light within its extent.
enum class PsfPart {
    most,        ///< 96 % of a spot that is centred in its window
    nearly_all,  ///< all but less than 1 photon in 1000
    all
};

/// Returns the extent of a Gaussian of width 1.
constexpr double gaussian_extent(PsfPart part) {
    return part == PsfPart::most ? 2.3 : part == PsfPart::nearly_all ? 3.5 : 6;
}

/// Returns the number of leading elements with a name.
template <class Named, int most>
constexpr int count_of(const Named (&list)[most]) {
    int count = 0;
    while (count < most && list[count].name) ++count;
    return count;
}

/// Returns true if all parameters of a shape are widths.
template <int most>
constexpr bool has_widths_only(const ShapeParameter (&shape)[most]) {
    for (int k = 0; k < count_of(shape); ++k)
        if (shape[k].column == PsfColumn::own || shape[k].column == PsfColumn::z) return false;
    return true;
}

}  // namespace glint
