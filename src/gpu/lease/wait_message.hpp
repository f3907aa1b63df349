// The message that says why a request waits: what it needs, what is available, and who holds the rest.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {

/// "4.6 GiB with the context are needed; GPU-... (NVIDIA H200) has 1.2 GiB of 140.0 GiB ...; leases on it: ..."
std::string wait_message(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, const Decision& decision, std::uint64_t now_ns);

}  // namespace glint::gpu::lease
