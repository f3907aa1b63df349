// Processes that hold GPUs or wait for them, and past leases, as tables and as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "warm_worker/warm_worker.hpp"

namespace glint::cli {

/// Leases, and the warm workers of this user among their holders.
struct LeasesAndWorkers {
    gpu::LeaseSnapshot leases;
    std::vector<warm_worker::RunningWorker> workers;
};
LeasesAndWorkers see_leases();

/// Returns the name of a user, or the number if there is no name.
std::string user_name(std::uint32_t uid);
/// Returns "5.5 GiB".
std::string amount(std::uint64_t bytes);

std::vector<std::string> lease_table(const LeasesAndWorkers& seen);
nlohmann::ordered_json lease_json(const LeasesAndWorkers& seen);

/// `glint top --history`: prints all users' leases of the last days, and each user's total time, on stdout.
void print_history(bool json);

}  // namespace glint::cli
