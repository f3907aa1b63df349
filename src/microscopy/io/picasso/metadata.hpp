// Picasso's metadata: a list of mappings, one per processing step, as YAML documents and as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/progress.hpp"

namespace glint {

/// What the list states about the movie; 0 if it states nothing. The last step that names a key wins.
struct MovieFacts {
    int width = 0, height = 0;
    std::int64_t frames = 0;
    double pixel_size_nm = 0;
};

using Steps = std::vector<std::string>;  ///< one YAML mapping each, without `---`, ending in a newline

/// Longer texts are not metadata: read as YAML they may take 500 times their bytes.
constexpr std::size_t largest_metadata_bytes = 1 << 20;

/// Splits a `.yaml` file at its `---` lines. Documents that are no mapping, and those after the thousandth, are omitted
/// and counted in `bad`.
Steps steps_from_yaml(const std::string& text, int& bad);

/// The same from the JSON list of a `/metadata`. Not a list, or one nested too deeply: no steps, and one bad.
Steps steps_from_json(const std::string& text, int& bad);

/// The steps that `read`, one of these, finds in a text that is not too long; `warn` says what of `where` is left out.
Steps understood_steps(const std::string& where, const std::string& text, Steps (*read)(const std::string&, int&),
                       const Warn& warn);

MovieFacts facts_in(const Steps& steps);

/// `history` such that a reader finds `facts` in it: with one more step in front when the keys are missing,
/// at the end when an older step says otherwise.
Steps with_facts(const Steps& history, const MovieFacts& facts);

std::string to_yaml(const Steps& steps);
std::string to_json(const Steps& steps);

/// Names of Picasso's columns in its default order. glint's further columns come last.
std::span<const char* const> picasso_order();

}  // namespace glint
