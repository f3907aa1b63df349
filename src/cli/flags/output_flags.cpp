// --overwrite, and a line of the summary.
// SPDX-License-Identifier: MIT
#include "cli/flags/output_flags.hpp"

namespace glint::cli {

void add_overwrite_flag(CLI::App& app, bool& overwrite) {
    app.add_flag("--overwrite", overwrite, "Replace an existing output");
}

void add_hidden_rows(Summary& summary, std::int64_t hidden) {
    if (hidden > 0) summary.add("not in Picasso", with_commas(hidden) + " rows below x or y = 0 or beyond the movie");
}

}  // namespace glint::cli
