// Channel, z plane and position of a movie, as flags.
// SPDX-License-Identifier: MIT
#include "cli/flags/movie_flags.hpp"

#include <fmt/format.h>

#include "cli/shell_word.hpp"

namespace glint::cli {

void add_movie_flags(CLI::App& app, MovieChoice& choice) {
    const auto whole = CLI::Range(std::int64_t(0), std::int64_t(1) << 40);
    app.add_option("--channel", choice.channel,
                   "Of a file with several channels: this one, by number from 0, or by name")
        ->group("Movie");
    app.add_option("--z", choice.z, "Of a file with several z planes: this one, from 0")->check(whole)->group("Movie");
    app.add_option("--position", choice.position,
                   "Of a file with several stage positions: this one, by number from 0, or by name")
        ->group("Movie");
}

void add_region_flag(CLI::App& app, std::string& region) {
    app.add_option("--region", region, "X,Y,W,H: this part of the frames alone, px, such as one half of a dual view")
        ->group("Movie");
}

std::string as_given(const MovieChoice& choice) {
    std::string text;
    if (choice.channel) text += fmt::format(" --channel {}", shell_word(*choice.channel));
    if (choice.z) text += fmt::format(" --z {}", *choice.z);
    if (choice.position) text += fmt::format(" --position {}", shell_word(*choice.position));
    return text;
}

}  // namespace glint::cli
