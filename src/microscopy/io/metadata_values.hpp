// Values as the metadata of movies and tables write them: numbers, lengths with their units, the sizes of pixels and
// frames.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "glint/movie.hpp"

namespace glint {

/// Parses the whole text as a number of this type. Nullopt for other texts, out of range, infinity or NaN.
template <class T>
std::optional<T> number_of(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(double(value))) return std::nullopt;
    return value;
}

/// Like number_of(), for a quantity that must be positive.
inline std::optional<double> positive_number_of(std::string_view text) {
    const auto value = number_of<double>(text);
    return value && *value > 0 ? value : std::nullopt;
}

/// Returns the nanometres in one `unit`, as ImageJ, OME, ThunderSTORM and people write it; nullopt for other words.
std::optional<double> nm_of_unit(std::string_view unit);

/// Sets the movie's pixel size. Adds a warning if pixels are not square. A size outside smallest_pixel_nm to
/// largest_pixel_nm counts as not calibrated and is ignored.
void set_pixel_size(double width_nm, double height_nm, MovieInfo& info);

/// Maximum number of pixels along an edge of a movie's frame.
inline constexpr int largest_edge_px = 65535;

}  // namespace glint
