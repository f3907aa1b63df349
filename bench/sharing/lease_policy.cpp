// The lease policy: tickets, and the decisions of src/runtime/gpu/lease/policy.cpp, the code that the broker runs.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bench/sharing/context_costs.hpp"
#include "bench/sharing/sharing_policy.hpp"

namespace glint::sharing {
namespace {

namespace lease = gpu::lease;

// Measured latencies: 1 ms from the call to a lease on a free GPU, 0.2 ms from a release to the next evaluation.
// Foreign processes send no notification: the head of the queue polls.
constexpr double first_look_s = 0.001, wake_s = 0.0002, head_poll_s = 0.5, heartbeat_s = 1;

class Leases final : public SharingPolicy {
  public:
    Leases(Stage& stage, double quantum_s) : stage_(stage), quantum_s_(quantum_s) {
        for (const SharedGpu& gpu : stage.gpus()) {
            lease::Gpu seen;
            seen.total_bytes = gpu.total_bytes;
            seen.context_bytes = context_bytes;
            snapshot_.gpus.push_back(seen);
        }
    }

    bool creates_contexts_one_at_a_time() const override { return true; }
    void arrived(int job) override {
        enqueue(job, first_look_s);
        look_for_quantum();
    }
    void lost(int job) override {
        give_back(job);
        enqueue(job, wake_s);
    }
    void released(int job) override {
        give_back(job);
        look_after(wake_s);
    }
    void foreign_processes_changed() override { look_after(stage_.random() * head_poll_s); }
    void woken(int token) override {
        if (token == quantum_token) return looks_for_quantum_ = false, give_way();
        looks_at_s_ = std::numeric_limits<double>::infinity();
        look();
    }

  private:
    struct Waiter {
        int job, passes;
        std::uint64_t arrived;  // a counter, so that arrivals are unique
    };
    struct Holder {
        int job;
        GpuSet on;
        std::uint64_t arrived;
    };

    void enqueue(int job, double look_after_s) {
        waiters_.push_back({job, 0, ++count_});
        look_after(look_after_s);
    }
    void give_back(int job) {
        std::erase_if(holders_, [&](const Holder& h) { return h.job == job; });
    }

    void look_after(double seconds) {
        const double at_s = stage_.now_s() + seconds;
        if (waiters_.empty() || at_s >= looks_at_s_) return;
        looks_at_s_ = at_s;
        stage_.wake_at(at_s, 0);
    }

    void look() {
        if (waiters_.empty()) return;
        see();
        const auto decisions = lease::plan(snapshot_, rules_, snapshot_.tickets.size() - 1);
        std::vector<Waiter> still;
        for (std::size_t w = 0; w < waiters_.size(); ++w) {
            const GpuSet on = decisions[w].gpus;
            if (!on) {
                still.push_back(waiters_[w]);
                continue;
            }
            for (Waiter& before : still) ++before.passes;
            holders_.push_back({waiters_[w].job, on, waiters_[w].arrived});
            stage_.start(waiters_[w].job, on);
        }
        const bool any = still.size() < waiters_.size();
        waiters_ = std::move(still);
        if (any) look_after(wake_s);  // other tickets enter the window now
    }

    /// A fit that has computed for a quantum gives way to a waiting job that expects to finish within a quantum.
    void give_way() {
        if (waiters_.empty()) return;
        const bool short_one_waits = std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& w) {
            return stage_.job(w.job).gives_way && stage_.job(w.job).compute_s < quantum_s_;
        });
        const auto is_over = [&](const Holder& h) {
            const auto since_s = stage_.computes_since_s(h.job);
            return since_s && stage_.job(h.job).gives_way && stage_.now_s() - *since_s >= quantum_s_;
        };
        const auto over = std::find_if(holders_.begin(), holders_.end(), is_over);
        if (short_one_waits && over != holders_.end()) stage_.interrupt(over->job);
        look_for_quantum();
    }
    void look_for_quantum() {
        if (std::isinf(quantum_s_) || std::exchange(looks_for_quantum_, true)) return;
        stage_.wake_at(stage_.now_s() + heartbeat_s, quantum_token);
    }

    /// Builds the snapshot that the broker would read from slots and NVML.
    void see() {
        for (std::size_t g = 0; g < snapshot_.gpus.size(); ++g) {
            const SharedGpu& gpu = stage_.gpus()[g];
            snapshot_.gpus[g].free_bytes = gpu.free_bytes;
            snapshot_.gpus[g].processes = gpu.contexts;
            snapshot_.gpus[g].utilization_percent = gpu.is_busy() ? 100 : 0;
        }
        snapshot_.reservations.clear();
        for (const Holder& h : holders_)
            for (int g = 0; g < int(snapshot_.gpus.size()); ++g)
                if (h.on >> g & 1) {
                    const SimulatedJob& job = stage_.job(h.job);
                    snapshot_.reservations.push_back({g, std::uint32_t(job.user), job.bytes + context_bytes,
                                                      stage_.held_bytes(h.job, g), 0, h.arrived});
                }
        snapshot_.tickets.clear();
        for (const Waiter& w : waiters_) {
            const SimulatedJob& job = stage_.job(w.job);
            snapshot_.tickets.push_back(
                {std::uint32_t(job.user), job.bytes, job.gpus, lease::every_gpu, w.passes, w.arrived});
        }
    }

    Stage& stage_;
    lease::Rules rules_;
    lease::Snapshot snapshot_;
    std::vector<Waiter> waiters_;  // in order of arrival
    std::vector<Holder> holders_;
    std::uint64_t count_ = 0;
    static constexpr int quantum_token = 1;
    const double quantum_s_;
    bool looks_for_quantum_ = false;
    double looks_at_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<SharingPolicy> lease_policy(Stage& stage, double quantum_s) {
    return std::make_unique<Leases>(stage, quantum_s);
}

}  // namespace glint::sharing
