// DECODE's tables of emitters. x counts the rows of a frame and y its columns, the first pixel's centre is at 0, and
// frames count from 0: psf_kernel.py simulates frames of N x H x W by frame[x, y], with extents from -0.5 on.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/csv/columns.hpp"

namespace glint {

/// The unit of x and y, and the pixel sizes along DECODE's axes; 0 if it is not stated.
struct DecodeMeta {
    std::string xy_unit;
    double px_size_x_nm = 0, px_size_y_nm = 0;
};

/// One column of DECODE's table and the column of Localizations that it fills.
struct DecodeMeaning {
    std::string name;  ///< empty: skipped
    double scale = 1;
    bool is_variance = false;  ///< scale * sqrt(value)
    bool known = false;
};

/// Returns the metadata in a CSV's comment (JSON). `unit` is empty if the comment is invalid.
DecodeMeta decode_meta(std::string_view json);

/// Uses `pixel_size_nm` if the file has no pixel size. Throws InputError and OptionError for a unit that is neither
/// px nor nm, and for nm without a pixel size.
void complete_decode_meta(DecodeMeta& meta, double pixel_size_nm, const std::string& file);

/// `column`: "x", "y_sig", "phot_cr", ... Uncertainties are those of the network (sig) or of the simulation (cr).
DecodeMeaning decode_meaning(std::string_view column, const DecodeMeta& meta, bool uses_sig);

/// Returns the header of a CSV.
CsvHeader decode_header(const std::vector<std::string_view>& cells, const DecodeMeta& meta, bool uses_sig);

/// A reader's warning.
inline constexpr const char* decode_axes =
    "its x is taken as a frame's rows and its y as columns, as DECODE counts them: if the frames were transposed for "
    "it, "
    "exchange x and y";

}  // namespace glint
