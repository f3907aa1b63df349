// SPDX-License-Identifier: MIT
#include "plot/write_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "io/files/atomic_file.hpp"

namespace glint::plots {

namespace {

std::string lower_ending(const std::filesystem::path& file) {
    std::string ending = file.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return ending;
}

}  // namespace

bool is_figure_name(const std::filesystem::path& file) {
    return std::find(figure_endings.begin(), figure_endings.end(), lower_ending(file)) != figure_endings.end();
}

void write_figure(const std::filesystem::path& file, const Figure& figure, IfExists if_exists) {
    constexpr double pixels_a_px = 1.5;
    if (!is_figure_name(file)) throw OptionError(fmt::format("{}: {}", file.string(), other_endings));
    if (lower_ending(file) == ".png") return write_png(file, draw(figure, pixels_a_px), if_exists);
    AtomicFile out(file, if_exists);
    out.write(to_svg(figure));
    out.commit();
}

}  // namespace glint::plots
