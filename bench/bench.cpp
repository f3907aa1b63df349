// `glint bench`: speed and accuracy on this machine, and policies of sharing GPUs.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"

namespace glint::cli {

Command add_bench(CLI::App& program) {
    CLI::App* app = program.add_subcommand("bench", "Speed and accuracy on this machine; GPU sharing, simulated");
    app->require_subcommand(1);
    const Command commands[] = {add_bench_fit(*app), add_bench_localize(*app), add_bench_sharing(*app),
                                add_bench_offload(*app)};
    return {app, [=] {
                for (const Command& command : commands)
                    if (command.app->parsed()) return command.run();
                return int(exit_options);
            }};
}

}  // namespace glint::cli
