// Checks a recipe before the first step, which takes most of the time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/option.hpp"
#include "workflow/localize_setup.hpp"
#include "workflow/recipe.hpp"

namespace glint {

/// Throws OptionError for what a step would refuse of this movie: options of localizing, conditions with columns that
/// the tables will not have, a picture that is too large. `setup` is that of the recipe (localize_setup).
void check_recipe(const Recipe& recipe, const LocalizeSetup& setup, const MovieInfo& movie);

/// Returns a message with the recipe's keys instead of options. `front` spells options that are no keys, and those
/// that its users may give beside a recipe. Without `front` they become keys too, or stay.
std::string in_words_of_recipe(const std::string& message, const Speller& front);

}  // namespace glint
