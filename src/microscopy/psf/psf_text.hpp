// A PSF as text: one lossless form that programs exchange, and the forms for tables, journals and records.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "glint/psf.hpp"

namespace glint {

/// Returns the PSF without loss, in micrometres: "GaussianXYNB sigma_um=0.13". Leaves out default values. Contains only
/// the hash of a table.
std::string to_text(const Psf& psf);

/// Returns the PSF of to_text(). `table`: required if the text refers to a table. Throws InputError, which names the
/// wrong part, also if `table` is a different table.
Psf parse_psf(std::string_view text, std::shared_ptr<const PsfTable> table = {});

/// Returns a hash of all that to_text() contains. Equal PSFs have equal hashes, in every process and on every machine.
std::uint64_t content_hash(const Psf& psf);

/// Returns the PSF as a journal compares it when a run is resumed: "GaussianXYNB 130 nm".
std::string psf_setting(const Psf& psf);

/// Returns the width or the calibrated curve, and the own numbers of the model, as lines of a processing step: "Sigma
/// (nm): 130\n".
std::string provenance_of(const Psf& psf);

/// Returns the file of a measured PSF as a line of a processing step, "Measured PSF: \"lens.h5\"\n". Empty without a
/// table or a file. provenance_of() contains the hash of its table, which glint's own file states too.
std::string psf_file_line(const Psf& psf, const std::string& file);

/// Returns the PSF for summaries and records: {"model": "GaussianXYNB", "sigma_nm": 130, "hash": "..."}.
nlohmann::ordered_json psf_json(const Psf& psf);

}  // namespace glint
