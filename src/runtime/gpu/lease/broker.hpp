// Admission of a lease request: ticket, wait, claim and lease, and the injected dependencies of that protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/clock.hpp"
#include "gpu/lease/gpu_probe.hpp"
#include "gpu/lease/policy.hpp"
#include "gpu/lease/slot.hpp"
#include "gpu/lease/state_dir.hpp"
#include "gpu/lease/waiters.hpp"
#include "gpu/lease/watch.hpp"

namespace glint::gpu::lease {

/// The dependencies of the admission protocol. Injected, so that tests replace NVML, the clock and the directory.
struct Dependencies {
    std::shared_ptr<const StateDir> directory;
    std::shared_ptr<GpuProbe> probe;
    std::shared_ptr<Clock> clock;
    std::shared_ptr<Waiters> waiters = std::make_shared<Waiters>();
    Rules rules;
    std::string inherited;  ///< GLINT_LEASE: name of the lease that this process runs under; empty: none
    /// Called at each named point of the protocol. Tests stop or kill the process there.
    std::function<void(const char* point)> test_point = [](const char*) {};
};

/// Returns the real dependencies: GLINT_LEASE_DIR, NVML, CLOCK_MONOTONIC, GLINT_LEASES_PER_USER. Created again for each
/// request, so that the probe sees GPUs that this process has lost since.
Dependencies machine_dependencies();

/// Throws OptionError for a request that is invalid on any machine.
void check(const LeaseRequest& request);

/// The result of admit().
struct Admitted {
    std::vector<ObservedGpu> gpus;  ///< with the cost of a context there
    std::optional<Slot> slot;       ///< none without a state directory
    std::shared_ptr<const StateDir> directory;
    std::optional<Watch> watch;  ///< no longer needed; passed on because closing it takes 15 ms
    std::uint32_t driver = 0;    ///< Observation::driver
    double waited_s = 0;
};

/// Blocks until the request is admitted. Throws as acquire(), after withdrawing the ticket. Creates no context: the
/// caller does so under the lease, serialised by lock_context_creation().
Admitted admit(const Dependencies& dependencies, const LeaseRequest& request);

}  // namespace glint::gpu::lease
