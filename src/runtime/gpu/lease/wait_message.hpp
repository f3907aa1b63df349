// The message that says why a request waits: what it needs, what is available, and who holds the rest.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {

/// "4.6 GiB with the context are needed; GPU-... (NVIDIA H200) has 1.2 GiB of 140.0 GiB ...; leases on it: ..."
/// `all_users`: names the users of all GPUs that the ticket could use, processes without a lease included, instead.
std::string wait_message(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, const Decision& decision, std::uint64_t now_ns, bool all_users = false);

/// Where each lease on the GPU is of a process that waits for another one, this process among them: says so, since none of
/// them may ever get it; else empty. Nothing acts on it, as another thread of a waiting process may be about to give its
/// lease back.
std::string circle_message(int gpu, const Queue& queue, const StateDir::Scan& scan);

}  // namespace glint::gpu::lease
