// SMAP's names of columns, for its CSV and its .mat files. Lengths in nm, frames from 1, and the centre of the first
// pixel is at (1, 1) px: fitloc2locdata.m adds only the corner of the camera's ROI to MATLAB's pixel numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// The meaning of an SMAP column in Localizations: value * scale + shift, with scale and shift for a pixel size.
struct SmapMeaning {
    enum Kind { plain, position_x, position_y, lateral, skipped };
    std::vector<std::string> names;  ///< none: it only repeats another column
    Kind kind = plain;
    bool known = false;  ///< Localizations contains it
};

/// Returns the meaning of each column, given all of them: PSFxnm is both widths if there is no PSFynm.
std::vector<SmapMeaning> smap_meanings(const std::vector<std::string>& names);

/// Columns of channels and files. In most tables, all rows are of one channel and one file.
inline const std::vector<std::string> smap_tell_apart = {"channel", "filenumber"};

/// A column that is written to SMAP's files.
struct SmapColumn {
    enum Number { float32, float64, whole };
    std::string name;
    Number number = float32;
    bool is_copied = false;  ///< from an earlier file, with its NaN and infinity
    std::function<double(const Localizations&, std::size_t row)> value;
};

/// Returns the columns of `like`, whose `pixel_size_nm` must be known. `left_out` receives columns without a valid
/// name: MATLAB names contain only letters, digits and "_".
std::vector<SmapColumn> smap_columns(const Localizations& like, std::vector<std::string>* left_out = nullptr);

}  // namespace glint
