// Checks a recipe before the first step, which takes most of the time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/option.hpp"
#include "workflow/localize_setup.hpp"
#include "workflow/recipe.hpp"

namespace glint {

/// Throws OptionError if a step would reject the recipe for this movie:
/// - for options of localizing,
/// - for conditions with columns that the tables will not have, or
/// - for a picture that is too large.
/// `setup` is the recipe's setup (localize_setup).
void check_recipe(const Recipe& recipe, const LocalizeSetup& setup, const MovieInfo& movie);

/// Returns a message with the recipe's keys instead of options. `front` spells options that are not keys, and options
/// that its users may give in addition to a recipe. Without `front`, they also become keys, or stay.
std::string in_words_of_recipe(const std::string& message, const Speller& front);

}  // namespace glint
