// What was measured of this machine, and kept in the user's cache directory.
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

/// Seconds, bytes a second, operations a second.
struct Constants {
    double up_pinned = 0, down_pinned = 0, up_pageable = 0, down_pageable = 0;  ///< of the link; 0: not measured
    double transfer_s = 0, launch_s = 0;  ///< latencies of one transfer, of one kernel with the wait for it
    double context_s = 0;                 ///< of creating a context, and of its pool
    double cpu_flops = 0, cpu_bytes = 0, gpu_flops = 0, gpu_bytes = 0;  ///< rough; curves correct them
    std::map<std::string, double, std::less<>> library_s;               ///< of the first use of each library

    bool gpu_measured() const { return up_pinned > 0; }
};

/// What the measurements hold for; when one changes they are void.
struct MachineKey {
    std::string gpu_uuid;  ///< empty: the CPU alone
    std::string driver, cpu;
    int threads = 1;
    std::string version;  ///< of glint
    bool operator==(const MachineKey&) const = default;
};

/// Thread-safe.
class Machine {
  public:
    /// Reads what `folder` holds for that key. An empty folder: nothing is read or kept.
    Machine(MachineKey key, std::filesystem::path folder);
    ~Machine();  ///< saves

    const MachineKey& key() const { return key_; }
    Constants constants() const;
    void set(const Constants& constants);
    void set_library(const std::string& name, double seconds);
    void set_context(double seconds);

    struct Estimate {
        Terms cpu, gpu;                       ///< of a GPU that is open and has its libraries loaded
        double distance = 0;                  ///< octaves from what was measured, the larger one of both sides
        bool gpu_measured = false;            ///< the link, at least
        double context_s = 0, library_s = 0;  ///< to open the GPU, to load the work's library
    };
    Estimate estimate(const Work& work) const;
    /// What a run took in all, but waiting for a GPU, its context and libraries.
    void learn(const Work& work, Backend side, double seconds);
    bool knows(const Work& work, Backend side) const;          ///< of any size
    std::uint32_t runs(const Work& work, Backend side) const;  ///< of about that size

    /// Whether all was written; never throws.
    bool save() const noexcept;
    std::filesystem::path file() const;
    void forget();

  private:
    /// Of one operation.
    struct Curves {
        std::string name;
        Curve compute[2], moved[2][4];  // by side: where nothing moves; else all of it, by movement()
    };
    /// Which ways operands move: bit 0 towards that side, bit 1 back. How fast is the constants' affair.
    static int movement(const Work& work, Backend side);
    Terms terms(const Work& work, Backend side, const Curves* curves, float log2_size, double& distance) const;
    void load();

    const MachineKey key_;
    const std::filesystem::path folder_;
    mutable std::mutex mutex_;
    Constants constants_;
    std::map<std::uint64_t, Curves> curves_;
    mutable bool changed_ = false;
};

/// The machine with that GPU (empty: without), one for all who ask in this process.
std::shared_ptr<Machine> machine_with(const std::string& gpu_uuid, const std::string& driver);
/// No GPU is opened in less: what the CPU does sooner is not worth a look at GPUs, which takes 0.2 s itself.
constexpr double min_context_creation_s = 0.1;
/// Whether a driver may be there, without waking it.
bool driver_is_there();
/// The CPU's model, as /proc/cpuinfo has it.
std::string cpu_model();
/// $XDG_CACHE_HOME/glint, or ~/.cache/glint; empty where there is neither.
std::filesystem::path cache_folder();

}  // namespace glint::offload
