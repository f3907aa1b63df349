// Lengths, times and amounts of memory with units ("130nm", "1.3px"; "5min"; "4GiB"), and numbers for messages.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

/// A length in its original unit. Convert it with `to_px` or `to_nm`, which use the pixel size only if units differ.
struct Length {
    enum class Unit { nanometre, pixel };
    double value = 0;
    Unit unit = Unit::nanometre;
};

/// Parses a number followed by `nm`, `um`, `µm` or `px`, with or without blanks between. Returns the length. Throws
/// OptionError if the text is not a finite length above 0. The message contains `what` (for example "sigma") and
/// `example`.
Length parse_length(std::string_view text, std::string_view what, std::string_view example = "130nm, 0.13um or 1.3px");

/// The limits of the size of a camera pixel in the sample.
constexpr double smallest_pixel_nm = 1, largest_pixel_nm = 1e5;

/// Returns the length in camera pixels. Throws OptionError if its unit is nm and `pixel_size_nm` is not above 0.
double to_px(Length length, double pixel_size_nm);

/// Returns the length in nanometres. Throws OptionError if its unit is px and `pixel_size_nm` is not above 0.
double to_nm(Length length, double pixel_size_nm);

/// Parses a time: a number of 0 or more followed by `s`, `min` or `h`, a number alone (seconds), or `inf`. Returns
/// seconds. Throws OptionError for other text; the message contains `what` (for example "timeout").
double parse_seconds(std::string_view text, std::string_view what);

/// Parses an amount of memory: a number alone or with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, as in "4GiB" or "500
/// MB". With `whole_bytes`, also accepts a percentage of it. Returns bytes. Throws OptionError for other text and for
/// less than one byte; the message contains `what`.
std::uint64_t parse_bytes(std::string_view text, std::string_view what, std::uint64_t whole_bytes = 0);

/// Returns 1234567 as "1,234,567".
std::string with_commas(std::int64_t value);

}  // namespace glint
