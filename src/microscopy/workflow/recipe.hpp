// The keys of a recipe.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "glint/workflow.hpp"

namespace glint {

/// A key of the file, and where its value is stored. An empty text, or an optional without value, is unset.
struct RecipeKey {
    using Value = std::variant<std::string*, std::optional<std::string>*, std::optional<std::int64_t>*,
                               std::optional<double>*, std::int64_t*, double*, bool*, std::vector<std::string>*>;
    const char* section;
    const char* name;
    Value value;
    const char* comment;
    const char* example = "";  ///< an example of a value, if the key may be unset
    double low = 0, high = 0;  ///< range of numbers
    bool is_later = false;     ///< added after 0.1.0: not in section_text() if unset, so that older folders continue
};

/// Returns all keys, by section. `recipe` must outlive them.
std::vector<RecipeKey> keys_of(Recipe& recipe);

/// Returns the value in TOML: "0.5", "\"100nm\""; empty if unset.
std::string toml_value(const RecipeKey& key);

/// Returns one section with all values, which identifies a step's results.
std::string section_text(const Recipe& recipe, std::string_view section);

/// Returns `recipe` with the values of `given` that are not the defaults, or whose keys are in `named`. `changed`
/// receives the names of the keys whose value changed.
Recipe with_given(const Recipe& recipe, const Recipe& given, std::vector<std::string>& changed,
                  const std::vector<std::string>& named = {});

/// Returns the values of `recipe`, as "camera.gain = 0.5". Omits defaults, values that are in `given`, and keys in
/// `named`.
std::vector<std::string> values_beside(const Recipe& recipe, const Recipe& given,
                                       const std::vector<std::string>& named = {});

}  // namespace glint
