// Fitter: fits stacks on leased GPUs, on the CPU, or on both.
//
// The rows of a stack form a work queue (row_queue.hpp). The GPUs take rows from it. If that saves time, the CPU also
// takes rows. At the end, the CPU fits the rows that no GPU has finished.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/clock.hpp"
#include "fit/cpu_fit_thread.hpp"
#include "fit/fit_service.hpp"
#include "fit/fit_setup.hpp"
#include "fit/joint/roi_emitters.hpp"
#include "fit/on_gpus.hpp"
#include "fit/weigh.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/gpu/device.hpp"
#include "gpu/pinned.hpp"
#include "offload/advisor.hpp"
#include "offload/device_pool.hpp"

namespace glint {
namespace {

constexpr std::int64_t sample_of_each_thread = 2048;              // ROIs
constexpr double further_gpu_s = 0.2;                             // time to open another GPU
constexpr std::size_t bytes_worth_a_gpu = std::size_t(16) << 20;  // bytes of pixels: a batch that saturates the link

/// Returns true if the decision is based on estimates for both sides, so that either may be chosen.
bool is_estimate(const offload::Decision& decision) {
    return decision.basis == offload::Basis::measured || decision.basis == offload::Basis::estimated;
}
/// Returns true if the CPU was chosen although there is a GPU.
bool is_by_choice(const std::optional<offload::Decision>& decision) {
    return decision && decision->choice == Backend::cpu && decision->basis != offload::Basis::forced;
}

/// Returns the UUID of the GPU with this CUDA ordinal; empty if there is none.
std::string uuid_of(int ordinal) {
    if (ordinal < 0) return {};
    for (const gpu::Device& device : gpu::inventory().devices)
        if (device.ordinal == ordinal) return device.uuid;
    return {};
}

/// Returns the number of GPUs, up to `most`, that the stack can keep busy.
int useful_gpus(const RoiView& rois, const FitOptions& options, int most) {
    const std::size_t each =
        options.batch_size > 0 ? std::size_t(options.batch_size) : bytes_worth_a_gpu / rois.roi_bytes();
    return int(std::clamp<std::size_t>((rois.count + each - 1) / each, 1, std::size_t(std::max(1, most))));
}

/// Returns the function that a queue of the stack's rows calls after finished rows.
RowQueue::OnFinished tell_of(const Stack& stack, const FitInfo& info) {
    if (!stack.options.progress) return {};
    return [&](std::int64_t finished) { stack.options.progress(finished, info.fits, -1); };
}

std::string milliseconds(double s) { return fmt::format("{:.3g} ms", 1e3 * s); }

}  // namespace

struct Fitter::State {
    offload::DevicePool pool;
    const std::unique_ptr<FitService> service = make_fit_service();
    std::mutex mutex;             // guards the following members
    offload::Advisor advisor;     // of Backend::automatic
    std::optional<Backend> told;  // the choice last reported by on_decision
    double on_gpus_s = 0;         // total time of fits on GPUs

    /// The devices that fit a stack.
    struct Plan {
        std::optional<offload::Decision> decision;
        int gpus = 0, max_gpus = 0;  // number for this stack; maximum that the Fitter holds
        double cpu_share = 0;        // of the rows; 0: GPUs only
    };
    void fit(const Stack& stack, FitInfo& info);
    static void fit_emitters(const Stack& stack, FitInfo& info);
    Plan plan(const Stack& stack, FitInfo& info);
    offload::Decision weigh(const Stack& stack, FitInfo& info);
    bool is_pinned(const RoiView& rois);
    void spread(Plan& plan, FitInfo& info) const;
    bool fit_on_gpus(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info);
    void fit_the_rest(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info);
};

Fitter::Fitter() : state_(std::make_unique<State>()) {}
Fitter::~Fitter() = default;

Fits Fitter::fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, FitInfo* info) {
    check(view(rois), psf, pixel_size_nm, options);
    if (rois.pixels.size() % (std::size_t(rois.size) * rois.size) != 0)
        throw OptionError(
            fmt::format("{} pixels are no whole number of {}x{} ROIs", rois.pixels.size(), rois.size, rois.size));
    return fit(view(rois), psf, pixel_size_nm, options, info);
}

Fits Fitter::fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, FitInfo* info) {
    const Clock::time_point begin = Clock::now();
    check(rois, psf, pixel_size_nm, options);
    FitInfo how;
    how.fits = std::int64_t(rois.count);
    Fits fits;
    fits.resize(psf.model, rois.count);
    const auto tell = [&] {
        how.seconds = seconds_since(begin);
        if (info) *info = how;
    };
    try {
        state_->fit({rois, psf, pixel_size_nm, options, fits}, how);
    } catch (...) {
        tell();
        throw;
    }
    tell();
    return fits;
}

void Fitter::State::fit(const Stack& stack, FitInfo& info) {
    if (stack.options.emitters != 1) return fit_emitters(stack, info);
    const Plan who = plan(stack, info);
    RowQueue queue({0, info.fits}, who.gpus + (who.cpu_share > 0), tell_of(stack, info));
    if (who.gpus > 0 && pool.held() == 0 && service->fit(stack, queue, info)) return;
    if (who.gpus > 0 && fit_on_gpus(stack, who, queue, info)) return;
    if (who.gpus > 0)
        note_why_cpu(pool, queue.finished(), info);
    else if (who.decision)
        info.note = who.decision->reason();
    fit_the_rest(stack, who, queue, info);
}

void Fitter::State::fit_emitters(const Stack& stack, FitInfo& info) {
    RowQueue queue({0, info.fits}, 1, tell_of(stack, info));
    RoiEmitters emitters(stack.rois, stack.psf, stack.pixel_size_nm, stack.options, stack.fits);
    fit_on_cpu(
        stack.rois, stack.psf, stack.pixel_size_nm, stack.options, queue.take(info.fits), stack.fits, info,
        [&](std::int64_t count) { queue.finish(count); },
        [&](const KernelInput& in, std::int64_t first) { emitters.fit(in, first); });
    stack.fits = emitters.rows();
}

Fitter::State::Plan Fitter::State::plan(const Stack& stack, FitInfo& info) {
    Plan plan;
    const Backend backend = environment::backend(stack.options.backend);
    if (backend == Backend::cpu) return plan;
    plan.max_gpus = max_gpus(pool, stack.rois.gpu < 0 ? stack.options.gpus : 1);  // pixels on a GPU are fitted there
    plan.gpus = useful_gpus(stack.rois, stack.options, plan.max_gpus);
    if (!compares_backends(stack.options) || pool.why_none() || info.fits == 0) return plan;
    const std::lock_guard lock(mutex);
    plan.decision = weigh(stack, info);
    spread(plan, info);
    info.decision = plan.decision->reason() + info.decision;
    if (stack.options.on_decision && told != plan.decision->choice) {
        const std::lock_guard one_at_a_time(pool.callback_mutex);
        stack.options.on_decision(info.decision + '\n' + plan.decision->table());
    }
    told = plan.decision->choice;
    if (is_by_choice(plan.decision)) plan.gpus = 0;
    return plan;
}

/// Asks the cost model. If the CPU's speed with such fits is unknown, measures it with a sample first.
offload::Decision Fitter::State::weigh(const Stack& stack, FitInfo& info) {
    const PsfModel model = stack.psf.model;
    offload::Work work = fit_work(stack.rois, 0, model, stack.options);
    work.pinned = stack.rois.gpu < 0 && is_pinned(stack.rois);
    const std::int64_t count = info.fits, sample = sample_of_each_thread * environment::threads();
    if (offload::driver_is_there() && count > 2 * sample && !advisor.knows_cpu(work)) {
        const double seconds = shorter_seconds_of_two([&] {
            FitInfo unused;
            fit_on_cpu(stack.rois, stack.psf, stack.pixel_size_nm, stack.options, {count - sample, count}, stack.fits,
                       unused);  // not yet final
        });
        advisor.learn(fit_work(stack.rois, count - sample, model, stack.options), Backend::cpu, seconds);
    }
    bool gpu_open = pool.held() > 0;
    if (const auto gpu = gpu_open ? std::nullopt : service->open_gpu(stack)) {
        advisor.opened_elsewhere(gpu->uuid, gpu->driver);
        gpu_open = true;
    }
    return advisor.place(work, stack.options.gpu_memory_bytes, gpu_open);
}

/// Returns true if the pixels are in page-locked memory. Needs a context, so it returns false without an idle GPU.
bool Fitter::State::is_pinned(const RoiView& rois) {
    std::unique_ptr<offload::Device> device = pool.take_idle();
    if (!device) return false;
    const gpu::detail::ContextState& home = device->context().state();
    const bool pinned = gpu::detail::is_pinned(home, rois.pixels, rois.count * rois.roi_bytes());
    pool.put_back(std::move(device));
    return pinned;
}

/// Extends the decision from one GPU to several GPUs and the CPU. Appends the result to info.decision.
void Fitter::State::spread(Plan& plan, FitInfo& info) const {
    offload::Decision& decision = *plan.decision;
    if (plan.max_gpus == 1 || !is_estimate(decision)) return;
    const JointEstimate alone = joint_estimate(decision, 1), all = joint_estimate(decision, plan.gpus);
    const double cpu_s = decision.cpu.total();
    if (decision.choice == Backend::cpu && all.gpus_s < cpu_s)
        decision.choice = Backend::gpu, decision.speedup = cpu_s / all.gpus_s;
    if (decision.choice == Backend::cpu) return;
    // Opens another GPU only if the open ones have been, or will be, busy for as long as opening takes.
    if (alone.gpus_s + on_gpus_s < further_gpu_s * pool.held()) {
        plan.max_gpus = std::max(1, pool.held());
        plan.gpus = std::min(plan.gpus, plan.max_gpus);
    }
    const JointEstimate now = joint_estimate(decision, plan.gpus);
    if (plan.gpus > 1) info.decision += fmt::format("; {} GPUs take {}", plan.gpus, milliseconds(now.gpus_s));
    if (!now.cpu_helps()) return;
    plan.cpu_share = now.cpu_share;
    info.decision +=
        fmt::format("; the CPU joins in: {} instead of {}", milliseconds(now.with_cpu_s), milliseconds(now.gpus_s));
}

bool Fitter::State::fit_on_gpus(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info) {
    const FitOptions& options = stack.options;
    const std::optional<offload::Decision>& decision = plan.decision;
    offload::DeviceRequest request = device_request(options, options);
    request.threads = plan.gpus, request.max = plan.max_gpus;
    request.open_without_work = info.fits == 0;  // so that Backend::gpu reports a missing GPU even for an empty stack
    request.near = uuid_of(stack.rois.gpu);
    if (decision && is_estimate(*decision))
        request.worth_waiting_s = worth_waiting_s(*decision, joint_estimate(*decision, plan.gpus).gpus_s);
    if (pool.held() == 0) {
        const std::lock_guard lock(mutex);
        request.expected_s = advisor.expected_gpu_s(fit_work(stack.rois, 0, stack.psf.model, options));
    }
    if (compares_backends(options))
        request.on_opened = [this](const offload::Device& device, double seconds) {
            const std::lock_guard lock(mutex);
            advisor.opened(device.uuid, seconds, device.context());
        };
    std::optional<CpuFitThread> cpu;
    if (plan.cpu_share > 0) {
        cpu.emplace(stack, queue, pool, plan.cpu_share, plan.gpus);
        if (cpu->runs()) request.finished_by_others = &cpu->finished();
    }
    const auto fit = [&](GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way) {
        RowShare share(queue, gives_way);
        try {
            gpu.fit(stack.rois, stack.psf, stack.pixel_size_nm, options, view(stack.fits), share, &part);
        } catch (...) {
            useful = share.finished() > 0;
            if (options.restart_batches) share.give_back_finished();
            part.fits = share.finished();
            throw;
        }
        part.fits = share.finished();
    };
    const offload::DeviceRun run = run_on_gpus(pool, std::move(request), queue, options, fit, info);
    if (cpu) cpu->join(info);
    const std::lock_guard lock(mutex);
    for (const GpuPart& part : info.gpus) on_gpus_s += part.seconds;
    if (run.wait_abandoned) advisor.wait_abandoned();
    // Only a run without retries on a single GPU measures the GPU's speed.
    if (decision && info.retries == 0 && info.gpus.size() == 1 && info.cpu_fits == 0) {
        const double seconds = info.gpus.front().seconds;
        run.opened ? advisor.learn_first(decision->work, seconds)
                   : advisor.learn(decision->work, Backend::gpu, seconds);
    }
    return run.finished;
}

void Fitter::State::fit_the_rest(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info) {
    const Clock::time_point began = Clock::now();
    const bool all = queue.finished() == 0;
    do {
        const RowRange rows = queue.take(info.fits);
        fit_on_cpu(stack.rois, stack.psf, stack.pixel_size_nm, stack.options, rows, stack.fits, info,
                   [&](std::int64_t count) { queue.finish(count); });
    } while (!queue.is_finished());
    if (!plan.decision || !all) return;
    const std::lock_guard lock(mutex);
    advisor.learn(plan.decision->work, Backend::cpu, seconds_since(began));
    if (is_by_choice(plan.decision)) advisor.forgo(*plan.decision, seconds_since(began));
}

Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, FitInfo* info) {
    return Fitter().fit(rois, psf, pixel_size_nm, options, info);
}

Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options, FitInfo* info) {
    return Fitter().fit(rois, psf, pixel_size_nm, options, info);
}

}  // namespace glint
