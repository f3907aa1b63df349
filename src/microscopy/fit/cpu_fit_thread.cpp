// Fits on the CPU while GPUs fit the same stack.
// SPDX-License-Identifier: MIT
#include "fit/cpu_fit_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "fit/fit_info.hpp"
#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"

namespace glint {
namespace {

constexpr double worth_it = 0.9;  // time with the CPU over time without
constexpr double look_again_s = 0.005;
constexpr std::int64_t min_part = 2048;  // rows per thread: 0.5 ms of one core; at most 32 times that

}  // namespace

bool JointEstimate::cpu_helps() const { return with_cpu_s < worth_it * gpus_s; }

JointEstimate joint_estimate(const offload::Decision& decision, int gpus) {
    const offload::Terms& gpu = decision.gpu;
    const double to_start = gpu.wait_s + gpu.context_s + gpu.library_s;
    const double busy_s = (gpu.total() - to_start) / gpus, cpu_s = decision.cpu.total();
    JointEstimate out;
    out.gpus_s = out.with_cpu_s = to_start + busy_s;
    if (busy_s <= 0 || cpu_s <= 0) return out;
    const double gpu_rate = 1 / busy_s, cpu_rate = 1 / cpu_s;  // stacks a second
    out.cpu_share = cpu_rate / (cpu_rate + gpu_rate);
    out.with_cpu_s = std::min(cpu_s, (1 + to_start * gpu_rate) / (cpu_rate + gpu_rate));
    return out;
}

CpuFitThread::CpuFitThread(const Stack& stack, RowQueue& queue, const offload::DevicePool& pool, double share, int gpus)
    : stack_(stack), queue_(queue), pool_(pool), share_(share), options_(stack.options) {
    const int threads = options_.threads > 0 ? options_.threads : environment::threads();
    options_.threads = std::max(1, threads - gpus);  // each GPU's thread occupies one core
    try {
        thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {
        // No thread can be started: the GPUs fit alone.
    }
}

CpuFitThread::~CpuFitThread() {
    if (!thread_.joinable()) return;
    queue_.close();
    thread_.join();
}

void CpuFitThread::join(FitInfo& info) {
    if (thread_.joinable()) thread_.join();
    if (info_.cpu_fits > 0) {
        const bool alone = info.gpus.empty();
        info.batches += info_.batches, info.threads = info_.threads;
        add_gpu_part(info, info_);
        info.backend = alone ? "cpu" : "gpu+cpu";
        info.device = alone ? info_.device : fmt::format("{} + {}", info.device, info_.device);
    }
    if (error_) std::rethrow_exception(error_);
}

/// Returns half of the CPU's share of the remaining rows, so that the GPUs need not wait for it at the end.
std::int64_t CpuFitThread::part() const {
    const std::int64_t least = min_part * options_.threads;
    const std::int64_t rows = std::min(std::int64_t(share_ / 2 * double(queue_.left())), 32 * least);
    return pool_.held() > 0 ? rows : std::max(rows, least);
}

void CpuFitThread::serve() {
    RowShare share(queue_);
    try {
        while (queue_.wait_for_work(options_.stop)) {
            const std::int64_t most = part();
            if (most < min_part) {  // the last rows are left to the GPUs, unless the GPUs are lost
                queue_.wait_for_end(look_again_s);
                if (options_.stop && *options_.stop) break;
                continue;
            }
            const RowRange rows = share.take(most);
            if (rows.empty()) continue;
            fit_on_cpu(stack_.rois, stack_.psf, stack_.pixel_size_nm, options_, rows, stack_.fits, info_);
            share.finish(rows);
        }
    } catch (...) {
        error_ = std::current_exception();
        share.give_back();
        queue_.close();
    }
    finished_ = true;
}

}  // namespace glint
