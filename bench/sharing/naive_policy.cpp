// The naive policy: random GPUs, at once.
// SPDX-License-Identifier: MIT
#include <bit>

#include "bench/sharing/sharing_policy.hpp"

namespace glint::sharing {
namespace {

class Naive final : public SharingPolicy {
  public:
    explicit Naive(Stage& stage) : stage_(stage) {}

    void arrived(int job) override {
        GpuSet on = 0;
        while (std::popcount(on) < stage_.job(job).gpus)
            on |= GpuSet(1) << int(stage_.random() * double(stage_.gpus().size()));
        stage_.start(job, on);
    }
    void lost(int job) override { stage_.fail(job); }

  private:
    Stage& stage_;
};

}  // namespace

std::unique_ptr<SharingPolicy> naive_policy(Stage& stage) { return std::make_unique<Naive>(stage); }

}  // namespace glint::sharing
