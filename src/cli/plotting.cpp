// SPDX-License-Identifier: MIT
#include "cli/plotting.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"

namespace glint::cli {

void check_plot(const std::string& file) {
    if (!file.empty() && !plots::is_figure_name(file))
        throw OptionError(fmt::format("--plot {}: {}", file, plots::other_endings));
}

std::string draw_plot(const plots::Figure& figure, const std::string& file, IfExists if_exists,
                      const std::string& result, Console& console, std::vector<std::string>* warnings) {
    try {
        plots::write_figure(file, figure, if_exists);
        return file;
    } catch (const OutputError& error) {
        const std::string warning = fmt::format("{}. {} itself is complete", error.what(), result);
        console.warn(warning);
        if (warnings) warnings->push_back(warning);
        return {};
    }
}

}  // namespace glint::cli
