// The flag --overwrite, checks of outputs, and a line of the summary.
// SPDX-License-Identifier: MIT
#include "cli/flags/output_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "glint/error.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite) {
    app.add_flag("--overwrite", overwrite, "Replace an existing output");
}

std::string lower_extension(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return extension;
}

void require_toml(const std::filesystem::path& out) {
    if (lower_extension(out) != ".toml")
        throw OptionError(fmt::format("--output {}: must end in .toml, as in -o {}", out.string(),
                                      std::filesystem::path(out).replace_extension(".toml").string()));
}

void add_hidden_rows(Summary& summary, std::int64_t hidden) {
    if (hidden == 0) return;
    summary.add(
        "beyond the edge",
        fmt::format("{} rows have x or y below 0 (the centre of the first pixel) or beyond the last pixel. The file "
                    "contains them, but Picasso leaves them out when it opens the file",
                    with_commas(hidden)));
}

}  // namespace glint::cli
