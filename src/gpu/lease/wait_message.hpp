// Why somebody waits, in words.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {

/// "4.6 GiB with the context are needed, and GPU-... (NVIDIA H200) has 1.2 GiB of 140.0 GiB free; held there: ..."
std::string wait_message(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, const Decision& decision, std::uint64_t now_ns);

}  // namespace glint::gpu::lease
