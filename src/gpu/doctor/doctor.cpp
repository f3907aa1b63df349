// All checks, one after the other.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/doctor.hpp"

#include <unistd.h>

#include <iterator>

#include "glint/environment.hpp"
#include "glint/error.hpp"

namespace glint::gpu::doctor {
namespace {

/// None where a variable is wrong, which a check of its own says, or where nobody has had a lease: looking would make
/// the directory.
LeaseSnapshot leases_seen() {
    try {
        if (::access(environment::lease_directory().c_str(), F_OK) != 0) return {};
        return snapshot_leases();
    } catch (const OptionError&) {
        return {};
    }
}

/// None where the variable is wrong, which a check of its own says.
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
