// Fits as the cost model sees them (offload/advisor.hpp): how much work a stack is.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "glint/fit.hpp"
#include "glint/offload/decision.hpp"
#include "glint/roi_view.hpp"

namespace glint {

/// What is done with ROIs of one size by one model, as "fit GaussianXYNB 7 px": what was measured is kept by its name.
/// `mapped`: each pixel has a camera value of its own. For any model and size, of static storage. Thread-safe.
const offload::Operation& model_operation(std::string_view what, PsfModel model, int size, bool mapped,
                                          std::string_view unit, double rule_size);

/// Rows [first, count) of `rois`, as the cost model sees them.
offload::Work fit_work(const RoiView& rois, std::int64_t first, PsfModel model, const FitOptions& options);

}  // namespace glint
