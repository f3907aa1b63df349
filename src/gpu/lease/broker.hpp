// A request's way from its arrival to its lease: a ticket, waiting, a claim, and the lease's slot.
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
#include "gpu/lease/watch.hpp"

namespace glint::gpu::lease {

/// Where a broker works: arguments, so that tests can put their own in place.
struct Dependencies {
    std::shared_ptr<const StateDir> directory;
    std::shared_ptr<GpuProbe> probe;
    std::shared_ptr<Clock> clock;
    Rules rules;
    std::string inherited;  ///< GLINT_LEASE: the lease that this process runs under
    /// Called at each named point of the protocol; tests stop or kill the process there.
    std::function<void(const char* point)> at = [](const char*) {};
};

/// The machine's: GLINT_LEASE_DIR, NVML, the kernel's clock, GLINT_LEASES_PER_USER.
Dependencies machine_dependencies();

/// Throws OptionError for what nobody can be given.
void check(const LeaseRequest& request);

/// What was admitted.
struct Admitted {
    std::vector<ObservedGpu> gpus;  ///< with what a context costs there
    std::optional<Slot> slot;       ///< none without a state directory
    std::optional<Watch> watch;     ///< no longer needed; closing one takes 15 ms, so not now
    std::uint32_t driver = 0;       ///< Observation::driver
    double waited_s = 0;
};

/// Whether the request can be met by this GPU at all.
bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request);

/// Waits until the request may run. Throws what acquire() does.
Admitted admit(const Dependencies& surroundings, const LeaseRequest& request);

}  // namespace glint::gpu::lease
