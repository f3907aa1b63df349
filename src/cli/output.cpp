// --overwrite.
// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite) {
    app.add_flag("--overwrite", overwrite, "Replace an existing output");
}

void refuse_existing(const std::filesystem::path& out, bool overwrite) {
    std::error_code ignored;
    if (!overwrite && std::filesystem::exists(out, ignored))
        throw OptionError(fmt::format("{} exists: give another output, or --overwrite to replace it", out.string()));
}

}  // namespace glint::cli
