// The message with the reason why a request waits: what it needs, what is available, and who holds the rest.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {

/// "4.6 GiB with the context are needed; GPU-... (NVIDIA H200) has 1.2 GiB of 140.0 GiB ...; leases on it: ..."
/// `all_users`: lists the users of all GPUs that the ticket could use instead, including processes without a lease.
std::string wait_message(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, const Decision& decision, std::uint64_t now_ns, bool all_users = false);

/// Returns a message if each lease on the GPU belongs to a process that waits for another lease, including this
/// process: possibly none of them will ever get it. Else returns an empty string. The message has no further effect, as
/// another thread of a waiting process may be about to release its lease.
std::string circle_message(int gpu, const Queue& queue, const StateDir::Scan& scan);

}  // namespace glint::gpu::lease
