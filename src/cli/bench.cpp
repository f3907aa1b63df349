// `glint bench`: speed and accuracy on this machine.
// SPDX-License-Identifier: MIT
#include "cli/bench.hpp"

namespace glint::cli {

Command add_bench(CLI::App& program) {
    CLI::App* app = program.add_subcommand("bench", "Measure speed and accuracy on this machine");
    app->require_subcommand(1);
    const Command fit = add_bench_fit(*app), localize = add_bench_localize(*app);
    return {app, [fit, localize] { return fit.app->parsed() ? fit.run() : localize.run(); }};
}

}  // namespace glint::cli
