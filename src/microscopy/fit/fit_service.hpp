// Another process that fits stacks on its GPU: all that this layer knows of the warm worker, which lies above
// (../warm_worker).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fit/cpu_fit_thread.hpp"
#include "fit/row_queue.hpp"

namespace glint {

/// A GPU that another process has open already.
struct OpenGpu {
    std::string uuid, driver;  ///< the driver's version
};

/// A Fitter's connection to such a process, kept from one stack to the next. Thread-safe: serves one stack at a time.
class FitService {
  public:
    virtual ~FitService() = default;
    /// Returns the GPU of a process that is running already and could fit the stack; for the cost model.
    virtual std::optional<OpenGpu> open_gpu(const Stack& stack) = 0;
    /// Fits the rows in the queue, by a process that is running or that this call starts. If the process ends, another
    /// one continues. Returns false if none is available for this stack; then the rows without results are in the
    /// queue. `info` receives what was done, also if this throws. Throws Cancelled, OptionError.
    virtual bool fit(const Stack& stack, RowQueue& queue, FitInfo& info) = 0;
};

/// Defined by the layer above.
std::unique_ptr<FitService> make_fit_service();

}  // namespace glint
