// Whether a stack of ROIs is fitted sooner on the CPU or on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "glint/fit.hpp"
#include "glint/gpu/context.hpp"
#include "glint/offload/decision.hpp"
#include "glint/roi_view.hpp"
#include "offload/machine.hpp"
#include "offload/outlook.hpp"

namespace glint {

/// What is done with ROIs of one size by one model, as "fit GaussianXYNB 7 px": what was measured is kept by its name.
/// `mapped`: each pixel has a camera value of its own. For any model and size, of static storage. Thread-safe.
const offload::Operation& model_operation(std::string_view what, PsfModel model, int size, bool mapped,
                                          std::string_view unit, double rule_size);

/// Rows [first, count) of `rois`, as the cost model sees them.
offload::Work fit_work(const RoiView& rois, std::int64_t first, PsfModel model, const FitOptions& options);

/// What a Fitter knows of costs from stack to stack. Not thread-safe.
class Weighing {
  public:
    /// `gpu_open`: it has a lease and a context.
    offload::Decision decide(const offload::Work& work, std::uint64_t gpu_memory_bytes, bool gpu_open);
    /// Whether it is known how fast the CPU is with such fits.
    bool knows_cpu(const offload::Work& work) const { return cpu_->knows(work, Backend::cpu); }
    /// What a stack took on one side, without waiting and opening.
    void learn(const offload::Work& work, Backend side, double seconds);
    /// The same of the first stack on a GPU, whose kernels had to be loaded.
    void learn_first(const offload::Decision& decision, double seconds);
    /// What a GPU would have saved of a stack that the CPU fitted, by the decision for it.
    void forgo(const offload::Decision& decision, double seconds);
    /// A GPU was opened: its context took so long. Measures the link where that was never done.
    void opened(const std::string& uuid, double seconds, const gpu::Context& context);
    /// It could not be had in the time that pays: from now on savings add up anew.
    void in_vain() { forgone_s_ = 0, lookout_.forget(); }

  private:
    /// Without a look at GPUs, where the CPU is done before one could be opened.
    std::optional<offload::Decision> too_short(const offload::Work& work) const;

    std::shared_ptr<offload::Machine> cpu_ = offload::machine_with("", "");  // what is known without a GPU
    std::shared_ptr<offload::Machine> machine_;
    offload::Lookout lookout_;
    double forgone_s_ = 0;
};

}  // namespace glint
