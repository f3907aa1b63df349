// The cost model of this machine: measured rates and latencies, kept in the user's cache directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "glint/offload/decision.hpp"
#include "offload/curve.hpp"

namespace glint::offload {

/// Rates (bytes or operations per second) and latencies (seconds). Measured when a GPU is first opened (measure.cpp),
/// in well under a second.
struct Constants {
    double up_pinned = 0, down_pinned = 0, up_pageable = 0, down_pageable = 0;  ///< link, bytes/s; 0: not measured
    double transfer_s = 0, launch_s = 0;  ///< latency of a transfer; of a kernel including synchronization
    double context_s = 0;                 ///< to create a context and its pool
    double query_s = 0;                   ///< until the driver has listed the GPUs
    double cpu_flops = 0, cpu_bytes = 0, gpu_flops = 0, gpu_bytes = 0;  ///< approximate; the curves correct them
    std::map<std::string, double, std::less<>> library_s;               ///< first use of each library, in seconds

    bool gpu_measured() const { return up_pinned > 0; }
};

/// The properties on which measurements depend. Measurements are discarded when any of these properties changes; those
/// of two thread counts are not kept side by side.
struct MachineKey {
    std::string gpu_uuid;  ///< empty: CPU only
    std::string driver, cpu;
    int threads = 1;
    std::string version;  ///< of glint
    bool operator==(const MachineKey&) const = default;
};

/// The cost model for one GPU, or for the CPU alone. Thread-safe.
class Machine {
  public:
    /// Loads the measurements for `key` from `folder`. With an empty path nothing is loaded or saved. `cpu`: the model
    /// without a GPU. It then stores the CPU's times for data on the host, which do not depend on the GPU.
    Machine(MachineKey key, std::filesystem::path folder, std::shared_ptr<Machine> cpu = {});
    ~Machine();  ///< saves

    const MachineKey& key() const { return key_; }
    Constants constants() const;
    /// Sets the constants of a GPU, which is then the GPU that was measured last.
    void set(const Constants& constants);
    void set_library(const std::string& name, double seconds);
    /// `query_s`: 0 if the driver was not queried.
    void set_context(double seconds, double query_s);

    struct LastGpu {
        std::string uuid, driver;
    };
    /// In the model without a GPU: the GPU of this machine that any process measured last. Empty: none yet.
    LastGpu last_gpu() const;

    struct Estimate {
        Terms cpu, gpu;                       ///< for an open GPU with its libraries loaded
        double distance = 0;                  ///< octaves in size to the nearest measurement, the larger of both sides
        bool gpu_measured = false;            ///< at least the link
        double context_s = 0, library_s = 0;  ///< to open the GPU; to load the library that the work needs
        double query_s = 0;                   ///< to list the GPUs
    };
    Estimate estimate(const Work& work) const;
    /// Updates the model with the measured time of a run, not counting lease, context and libraries.
    void learn(const Work& work, Backend side, double seconds);
    bool knows(const Work& work, Backend side) const;          ///< whether the operation was measured at any size
    std::uint32_t runs(const Work& work, Backend side) const;  ///< measured runs of about that size

    /// Writes the file; false on failure.
    bool save() const noexcept;
    std::filesystem::path file() const;
    void forget();

  private:
    /// Corrections of one operation.
    struct Curves {
        std::string name;
        Curve compute[2], moved[2][4];  // by side: without transfers; with transfers, by movement()
    };
    /// The combination of transfers: bit 0 for transfers to that side, bit 1 for transfers back. Each combination has
    /// its own curve, because transfers may overlap with computing.
    static int movement(const Work& work, Backend side);
    bool is_of_cpu(const Work& work, Backend side) const {
        return cpu_ && side == Backend::cpu && movement(work, side) == 0;
    }
    Terms terms_of_cpu(const Work& work, float log2_size, double& distance) const;
    /// The estimate for one side, with the mutex held. `curves` may be null.
    Terms terms(const Work& work, Backend side, const Curves* curves, float log2_size, double& distance) const;
    void load();
    void be_last();  ///< with the mutex held

    const MachineKey key_;
    const std::filesystem::path folder_;
    const std::shared_ptr<Machine> cpu_;  // locked after this one, never before it
    /// Guards all members below. save() also holds it while it writes the file.
    mutable std::mutex mutex_;
    Constants constants_;
    LastGpu last_gpu_;
    std::map<std::uint64_t, Curves> curves_;
    mutable bool changed_ = false;
};

/// The model for a GPU (empty: CPU only); one instance per process, shared by all callers.
std::shared_ptr<Machine> machine_with(const std::string& gpu_uuid, const std::string& driver);
/// Returns the model with the GPU that was measured last; if no GPU was measured, `cpu` itself.
std::shared_ptr<Machine> with_last_gpu(const std::shared_ptr<Machine>& cpu);
/// Returns a lower bound of the time to open a GPU.
constexpr double min_context_creation_s = 0.1;
/// Whether libcuda can be loaded; does not initialize the driver, which takes 0.2 s.
bool driver_is_there();
/// The CPU's model name, from /proc/cpuinfo.
std::string cpu_model();
/// $XDG_CACHE_HOME/glint, or ~/.cache/glint; empty if neither variable is set.
std::filesystem::path cache_folder();

}  // namespace glint::offload
