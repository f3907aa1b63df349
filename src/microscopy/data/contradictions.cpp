// Compares the metadata of two movies.
// SPDX-License-Identifier: MIT
#include "data/joined_movie.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace glint {
namespace {

struct ComparedValue {
    const char *name, *unit;
    std::optional<double> MovieInfo::*value;
};
constexpr ComparedValue compared_values[] = {
    {"pixel size", " nm", &MovieInfo::pixel_size_nm},
    {"offset", " ADU", &MovieInfo::offset_adu},
    {"gain", " e-/ADU", &MovieInfo::gain_e_per_adu},
    {"EM gain", "", &MovieInfo::em_gain},
};

}  // namespace

Contradictions contradictions(const MovieInfo& first, const std::string& first_name, const MovieInfo& other,
                              const std::string& other_name) {
    constexpr double rounding = 1e-3;
    Contradictions found;
    for (const auto& [name, unit, value] : compared_values) {
        const std::optional<double>&a = first.*value, &b = other.*value;
        if (a && b && std::abs(*a - *b) > rounding * std::abs(*a))
            found[name] = fmt::format("the metadata say {:g}{} in {} and {:g}{} in {}", *a, unit, first_name, *b, unit,
                                      other_name);
    }
    return found;
}

void add_contradictions(MovieInfo& joined, const Contradictions& found) {
    for (const auto& [name, unit, value] : compared_values) {
        const auto clause = found.find(name);
        if (clause == found.end() || !joined.contradictions.insert(*clause).second) continue;
        (joined.*value).reset();
        joined.warnings.push_back(fmt::format("{}: {}: none of these is taken", name, clause->second));
    }
}

void add_contradictions_within(const MovieInfo& part, MovieInfo& joined) {
    for (const auto& [name, unit, value] : compared_values)
        if (part.contradictions.contains(name)) (joined.*value).reset();
    joined.contradictions.insert(part.contradictions.begin(), part.contradictions.end());
}

}  // namespace glint
