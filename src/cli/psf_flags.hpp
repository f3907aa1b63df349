// The flags that describe the PSF and the fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "glint/fit.hpp"
#include "glint/psf.hpp"

namespace glint::cli {

struct PsfFlags {
    std::string model;        ///< empty: GaussianXYNB, or AstigmaticXYZNB with --calibration
    std::string sigma;        ///< with unit
    std::string calibration;  ///< file of `glint calibrate astigmatism`
};
void add_psf_flags(CLI::App& app, PsfFlags& flags);

/// Throws OptionError when the model lacks its sigma or calibration, showing how to give it. `pixel_size_nm` may be 0
/// where the sigma has no need of it.
Psf psf_of(const PsfFlags& flags, double pixel_size_nm);

/// --max-iterations and --tolerance.
void add_fit_flags(CLI::App& app, FitOptions& options);

struct BackendFlags {
    std::string backend = "auto";
    std::string gpu_memory = "1GiB";
    std::int64_t batch_size = 0;
};

/// --backend, --gpu-memory and --batch-size.
void add_backend_flags(CLI::App& app, BackendFlags& flags);
void use_backend(const BackendFlags& flags, FitOptions& options);
/// Of --gpu-memory; a share is that of the first GPU that can be used.
std::uint64_t gpu_memory_bytes(const BackendFlags& flags);

}  // namespace glint::cli
