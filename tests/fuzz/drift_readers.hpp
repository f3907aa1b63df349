// Inputs of the fuzzer of drift files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdlib>

#include "glint/drift_io.hpp"
#include "tests/fuzz/readers.hpp"

namespace glint::fuzz {

/// Checks that a drift that was read is consistent and can be written and read again.
inline void read_drift_file(const std::filesystem::path& path) {
    try {
        const Drift drift = read_drift(path, 100);
        if (drift.frames() < 1 || drift.y.nm.size() != drift.x.nm.size()) std::abort();
        if (!drift.z.nm.empty() && drift.z.nm.size() != drift.x.nm.size()) std::abort();
        if (!is_to_be_copied()) return;
        const auto copy = scratch_folder() / "copy.txt";
        write_drift(copy, drift, 100);
        const Drift again = read_drift(copy, 100);
        if (again.frames() != drift.frames() || again.z.nm.size() != drift.z.nm.size()) std::abort();
    } catch (const Error&) {
    }
}

/// Reads the bytes as a drift file, and as positions of beads.
inline void drift_files(Bytes bytes) {
    const auto path = written(bytes, "drift.txt");
    read_drift_file(path);
    try {
        for (const auto& [x, y] : read_bead_places(path))
            if (!std::isfinite(x) || !std::isfinite(y)) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace glint::fuzz
