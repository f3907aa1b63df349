// Lengths, times and amounts of memory with units ("130nm", "1.3px"; "5min"; "4GiB"), and numbers for people.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

/// A length in its original unit. Convert with `to_px` or `to_nm`, which use the pixel size only where units differ.
struct Length {
    enum class Unit { nanometre, pixel };
    double value = 0;
    Unit unit = Unit::nanometre;
};

/// Parses a number followed by `nm`, `um`, `µm` or `px`, with or without blanks between. Returns the length. Throws
/// OptionError, naming `what` (for example "sigma") and how to give it (`example`), if the text is no such length,
/// not finite or not greater than zero.
Length parse_length(std::string_view text, std::string_view what, std::string_view example = "130nm, 0.13um or 1.3px");

/// The valid size of a camera pixel in the sample. A size outside is an error.
constexpr double smallest_pixel_nm = 1, largest_pixel_nm = 1e5;

/// Returns the length in camera pixels. `pixel_size_nm` must be greater than 0 if the unit is
/// nanometres (else OptionError).
double to_px(Length length, double pixel_size_nm);

/// Returns the length in nanometres. `pixel_size_nm` must be greater than 0 if the unit is
/// pixels (else OptionError).
double to_nm(Length length, double pixel_size_nm);

/// Parses seconds: a number of 0 or more followed by `s`, `min` or `h`, or alone (seconds), or `inf`. Throws
/// OptionError, naming `what` (for example "timeout"), for anything else.
double parse_seconds(std::string_view text, std::string_view what);

/// Parses bytes: a number alone or with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, as in "4GiB" or "500 MB". With
/// `whole_bytes`, also percent of these. Throws OptionError, naming `what`, for anything else and for less than
/// one.
std::uint64_t parse_bytes(std::string_view text, std::string_view what, std::uint64_t whole_bytes = 0);

/// Returns 1234567 as "1,234,567".
std::string with_commas(std::int64_t value);

}  // namespace glint
