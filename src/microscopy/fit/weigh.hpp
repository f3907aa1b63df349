// The work of fits for the cost model (offload/advisor.hpp): operations and bytes of a stack.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "glint/fit.hpp"
#include "glint/offload/decision.hpp"
#include "glint/roi_view.hpp"

namespace glint {

/// Returns the kind of work, e.g. "fit GaussianXYNB 7 px": measured speeds are stored under this name. `mapped`:
/// per-pixel camera values. `rule_size`: size above which a GPU is chosen if nothing has been measured. The result has
/// static storage duration. Thread-safe.
const offload::Operation& model_operation(std::string_view what, PsfModel model, int size, bool mapped,
                                          std::string_view unit, double rule_size);

/// Returns the work of fitting rows [first, count) of `rois`.
offload::Work fit_work(const RoiView& rois, std::int64_t first, PsfModel model, const FitOptions& options);

}  // namespace glint
