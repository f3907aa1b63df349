// `glint bench` and its commands.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

namespace glint::cli {

Command add_bench(CLI::App& program);

/// `glint bench fit`: fits per second and std/CRLB, by model, camera and ROI size.
Command add_bench_fit(CLI::App& bench);

/// `glint bench localize`: frames per second from a file to a file.
Command add_bench_localize(CLI::App& bench);

/// `glint bench sharing`: policies of sharing GPUs, simulated.
Command add_bench_sharing(CLI::App& bench);

/// `glint bench offload`: decisions between CPU and GPU.
Command add_bench_offload(CLI::App& bench);

}  // namespace glint::cli
