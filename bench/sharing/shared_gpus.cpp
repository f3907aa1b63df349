// Memory accounting and the advance of simulated time.
// SPDX-License-Identifier: MIT
#include "bench/sharing/shared_gpus.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "bench/sharing/context_costs.hpp"

namespace glint::sharing {

SharedGpus::SharedGpus(int gpus, std::uint64_t bytes_each) : gpus_(std::size_t(gpus), {bytes_each, bytes_each}) {}

bool SharedGpus::take(int gpu, std::uint64_t bytes) {
    SharedGpu& where = gpus_[std::size_t(gpu)];
    if (where.free_bytes < bytes) return false;
    where.free_bytes -= bytes;
    return true;
}

void SharedGpus::give(int gpu, std::uint64_t bytes) { gpus_[std::size_t(gpu)].free_bytes += bytes; }

bool SharedGpus::take_context(double now_s, int gpu) {
    advance(now_s);
    SharedGpu& where = gpus_[std::size_t(gpu)];
    if (where.contexts >= max_contexts || !take(gpu, context_bytes)) return false;
    ++where.contexts;
    return true;
}

void SharedGpus::give_context(double now_s, int gpu) {
    advance(now_s);
    --gpus_[std::size_t(gpu)].contexts;
    give(gpu, context_bytes);
}

void SharedGpus::begin_creation(double now_s, int job, int gpu) {
    advance(now_s);
    active_.push_back({job, GpuSet(1) << gpu, true, 1, 0});
    ++gpus_[std::size_t(gpu)].creating;
}

void SharedGpus::begin_computing(double now_s, int job, GpuSet on, double seconds) {
    advance(now_s);
    active_.push_back({job, on, false, seconds, 0});
    for (std::size_t g = 0; g < gpus_.size(); ++g) gpus_[g].computing += on >> g & 1;
}

void SharedGpus::foreign_process_computes(double now_s, int gpu, int change) {
    advance(now_s);
    gpus_[std::size_t(gpu)].computing_foreign += change;
}

std::optional<SharedGpus::Ending> SharedGpus::next() {
    if (active_.empty()) return {};
    if (!rates_hold_) set_rates();
    Ending first{std::numeric_limits<double>::infinity(), -1};
    for (const Activity& a : active_)
        if (const double at_s = now_s_ + std::max(0.0, a.remaining) / a.rate; at_s < first.at_s) first = {at_s, a.job};
    return first;
}

double SharedGpus::end(double now_s, int job) {
    advance(now_s);
    const auto ended = std::find_if(active_.begin(), active_.end(), [&](const Activity& a) { return a.job == job; });
    for (std::size_t g = 0; g < gpus_.size(); ++g)
        (ended->creates ? gpus_[g].creating : gpus_[g].computing) -= int(ended->on >> g & 1);
    const double left = std::max(0.0, ended->remaining);
    active_.erase(ended);  // keeps the order: if two end at the same time, the one that started first comes first
    return left;
}

/// Advances all active work to `now_s`; must be called before any change of the state.
void SharedGpus::advance(double now_s) {
    const double passed_s = now_s - now_s_;
    if (passed_s > 0 && !rates_hold_) set_rates();
    for (Activity& a : active_) a.remaining -= a.rate * passed_s;
    for (const SharedGpu& gpu : gpus_) idle_s_ += gpu.is_busy() ? 0 : passed_s;
    now_s_ = now_s;
    rates_hold_ = false;
}

void SharedGpus::set_rates() {
    for (Activity& a : active_) {
        const SharedGpu& gpu = gpus_[std::size_t(std::countr_zero(a.on))];
        a.rate = a.creates ? 1 / context_creation_s(gpu.contexts, gpu.creating) : 0;
    }
    share_computing_time();
    rates_hold_ = true;
}

/// Max-min fairness by progressive filling. The GPU with the smallest share per job determines the speed of its jobs.
/// Then the next GPU does the same, with the capacity that these jobs leave.
void SharedGpus::share_computing_time() {
    std::vector<double> left(gpus_.size(), 1);
    std::vector<int> sharers(gpus_.size());
    for (std::size_t g = 0; g < gpus_.size(); ++g) sharers[g] = gpus_[g].computing + gpus_[g].computing_foreign;
    for (;;) {
        int tightest = -1;
        double share = std::numeric_limits<double>::infinity();
        for (std::size_t g = 0; g < gpus_.size(); ++g)
            if (sharers[g] > 0 && left[g] / sharers[g] < share) tightest = int(g), share = left[g] / sharers[g];
        if (tightest < 0) return;
        for (Activity& a : active_) {
            if (a.creates || a.rate > 0 || !(a.on >> tightest & 1)) continue;
            a.rate = share;
            for (std::size_t g = 0; g < gpus_.size(); ++g)
                if (a.on >> g & 1) left[g] -= share, --sharers[g];
        }
        sharers[std::size_t(tightest)] = 0;  // foreign processes get the rest
    }
}

}  // namespace glint::sharing
