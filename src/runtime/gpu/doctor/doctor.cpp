// Runs all checks in order.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/doctor.hpp"

#include <unistd.h>

#include <iterator>

#include "glint/environment.hpp"
#include "glint/error.hpp"

namespace glint::gpu::doctor {
namespace {

/// Empty if a variable is invalid, which check_variables() reports, or if the directory does not exist: opening it
/// would create it.
LeaseSnapshot leases_seen() {
    try {
        if (::access(environment::lease_directory().c_str(), F_OK) != 0) return {};
        return snapshot_leases();
    } catch (const OptionError&) {
        return {};
    }
}

/// Empty if the variable is invalid, which check_variables() reports.
Findings directory_findings() {
    try {
        return check_directory(environment::lease_directory());
    } catch (const OptionError&) {
        return {};
    }
}

}  // namespace

Findings examine(const std::vector<std::string>& other_variables) {
    const Inventory found = inventory();
    const LeaseSnapshot leases = leases_seen();
    Findings all;
    for (Findings some : {check_driver(), check_gpus(found), check_processes(found, leases), directory_findings(),
                          check_leases(leases), check_variables(found, other_variables)})
        std::move(some.begin(), some.end(), std::back_inserter(all));
    return all;
}

}  // namespace glint::gpu::doctor
