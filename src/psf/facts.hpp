// What a PSF model says of itself in words: plain constants, which every compiler of the kernel understands.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/numbers.hpp"

namespace glint {

constexpr int most_shape_parameters = 8;

/// Where the numbers come from that a model is made of.
enum class PsfSource {
    sigma,       ///< one width, of the sample: --sigma 130nm
    calibration  ///< the widths over z: --calibration FILE
};

/// What a parameter fills in a table of localizations, besides the widths that follow from all.
enum class PsfColumn {
    own,      ///< a column of the parameter's name, and NAME_unc
    width,    ///< it is the width: the uncertainties of sx and sy
    width_x,  ///< it is sx
    width_y,  ///< it is sy
    z         ///< it is z, in micrometres
};

/// A parameter that is fitted besides x, y, photons and bg.
struct ShapeParameter {
    const char* name = nullptr;
    const char* unit = "";  ///< "px", "um", or none
    PsfColumn column = PsfColumn::own;
};

/// A number that the user gives, as in --psf-number ratio=1.2.
struct OwnNumber {
    const char* name = nullptr;
    double usual = 0, low = 0, high = 0;  ///< its default, and the limits of what is taken
    const char* meaning = "";
};

struct PsfFacts {
    const char* about;  ///< what is fitted, for the help: "one free width"
    PsfSource source = PsfSource::sigma;
    ShapeParameter shape[most_shape_parameters] = {};
    OwnNumber numbers[most_own_numbers] = {};
};

/// How many of a list have a name.
template <class Named, int most>
constexpr int count_of(const Named (&list)[most]) {
    int count = 0;
    while (count < most && list[count].name) ++count;
    return count;
}

}  // namespace glint
