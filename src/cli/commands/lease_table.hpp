// Processes that hold GPUs or wait for them, as a table and as JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fit/worker/client.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::cli {

/// Leases, and what warm workers of this user are among their holders.
struct LeasesAndWorkers {
    gpu::LeaseSnapshot leases;
    std::vector<worker::RunningWorker> workers;
};
LeasesAndWorkers see_leases();

std::vector<std::string> lease_table(const LeasesAndWorkers& seen);
nlohmann::ordered_json lease_json(const LeasesAndWorkers& seen);

}  // namespace glint::cli
