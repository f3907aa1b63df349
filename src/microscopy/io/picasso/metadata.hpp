// Picasso's metadata: a list of mappings, one per processing step, as YAML documents and as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/progress.hpp"

namespace glint {

/// Facts about the movie in the list; 0 if unknown. The last step that has a key counts.
struct MovieFacts {
    int width = 0, height = 0;
    std::int64_t frames = 0;
    double pixel_size_nm = 0;
};

using Steps = std::vector<std::string>;  ///< one YAML mapping each, without `---`, ending in a newline

/// Longer texts are not metadata. Parsed as YAML, they may need 500 times their size.
constexpr std::size_t largest_metadata_bytes = 1 << 20;

/// Splits a `.yaml` file at its `---` lines. Documents that are not mappings, and those after the thousandth, are
/// omitted and counted in `bad`.
Steps steps_from_yaml(const std::string& text, int& bad);

/// Like steps_from_yaml(), from the JSON list of a `/metadata`. If it is not a list, or nested too deeply, returns no
/// steps and counts one bad.
Steps steps_from_json(const std::string& text, int& bad);

/// Returns the steps that `read`, one of these functions, finds in a text of acceptable length. `warn` reports what is
/// omitted from `where`.
Steps understood_steps(const std::string& where, const std::string& text, Steps (*read)(const std::string&, int&),
                       const Warn& warn);

MovieFacts facts_in(const Steps& steps);

/// Returns `history` such that a reader finds `facts` in it. Adds a step in front if keys are missing, and at the end
/// if an older step contradicts.
Steps with_facts(const Steps& history, const MovieFacts& facts);

std::string to_yaml(const Steps& steps);
std::string to_json(const Steps& steps);

/// Names of Picasso's columns in its default order. glint's additional columns come last.
std::span<const char* const> picasso_order();

}  // namespace glint
