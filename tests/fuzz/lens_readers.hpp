// What the fuzzer of measured PSFs feeds.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdlib>

#include "glint/psf_io.hpp"
#include "tests/fuzz/readers.hpp"

namespace glint::fuzz {

/// A measured PSF that was read is finite, and can be written and read again.
inline void lens_files(Bytes bytes) {
    const auto path = written(bytes, "lens");
    try {
        const Lens lens = read_lens(path, {.pixel_size_nm = 100, .channel = bytes.size() % 2 > 0 ? 1 : 0});
        for (const float value : lens.table->values())
            if (!std::isfinite(value)) std::abort();
        if (!is_to_be_copied()) return;
        const auto copy = scratch_folder() / "copy.h5";
        write_lens(copy, lens);
        if (read_lens(copy).table->hash() != lens.table->hash()) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace glint::fuzz
