// What is wrong with a recipe, told before the first step, which takes most of the time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/commands/localize.hpp"
#include "cli/run/recipe.hpp"

namespace glint::cli {

/// Throws OptionError for what a step would refuse of this movie: options of localizing and of GPUs, conditions with columns that
/// the tables will not have, a picture that is too large. `flags` are those of the recipe (localize_flags).
void check_recipe(const Recipe& recipe, const LocalizeFlags& flags, const MovieInfo& movie);

/// A message with the recipe's keys in place of flags that `glint run` does not have.
std::string in_words_of_run(const std::string& message);

}  // namespace glint::cli
