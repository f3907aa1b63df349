// --overwrite.
// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite) {
    app.add_flag("--overwrite", overwrite, "Replace an existing output");
}

}  // namespace glint::cli
