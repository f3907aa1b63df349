// A PSF as text: one lossless form that programs exchange, and the forms that tables, journals and records contain.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "glint/psf.hpp"

namespace glint {

/// Returns the PSF without loss, in micrometres: "GaussianXYNB sigma_um=0.13". Leaves out what has its default value.
/// Of a table it contains the hash.
std::string to_text(const Psf& psf);

/// Returns the PSF of to_text(). `table`: where the text names one. Throws InputError, which names the part that is
/// wrong, also where that is another table.
Psf parse_psf(std::string_view text, std::shared_ptr<const PsfTable> table = {});

/// Returns a hash of all that to_text() contains. Equal PSFs have equal hashes, in every process and on every machine.
std::uint64_t content_hash(const Psf& psf);

/// Returns the PSF as a journal compares it when a run is resumed: "GaussianXYNB 130 nm".
std::string psf_setting(const Psf& psf);

/// Returns the width or the calibrated curve, and the model's own numbers, as lines of a processing step: "Sigma (nm):
/// 130\n".
std::string provenance_of(const Psf& psf);

/// Returns the PSF for summaries and records: {"model": "GaussianXYNB", "sigma_nm": 130, "hash": "..."}.
nlohmann::ordered_json psf_json(const Psf& psf);

}  // namespace glint
