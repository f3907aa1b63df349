// From nanometres, the unit of the public headers, to micrometres, the unit of kernels and of calibration files.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// Returns micrometres, by one division.
constexpr double um_of(double nm) { return nm / 1000; }

/// Both functions move the decimal point of the shortest decimal that represents a number. The lengths of a file thus
/// keep their digits: 52.4 nm are 0.0524 um, but 52.4 / 1000 is not. With 16 or more digits, the last digit may change.
double nm_to_um(double nm);
double um_to_nm(double um);

}  // namespace glint
