// Fits stack after stack: on GPUs that others use too, as long as one can be had, or on the CPU.
//
// A stack is a queue of rows. Who fits draws from it: the GPUs, the CPU beside them where that pays, and in the end the
// CPU, for what no GPU has done.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>

#include "fit/beside_gpus.hpp"
#include "fit/fit_setup.hpp"
#include "fit/on_gpus.hpp"
#include "fit/weigh.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/gpu/device.hpp"
#include "gpu/pinned.hpp"

namespace glint {
namespace {

constexpr std::int64_t sample_of_each_thread = 2048;  // ROIs
constexpr double further_gpu_s = 0.2;                 // that opening one takes

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Both sides are known, and either may be taken.
bool is_estimate(const offload::Decision& decision) {
    return decision.basis == offload::Basis::measured || decision.basis == offload::Basis::estimated;
}
/// The CPU, though there is a GPU.
bool is_by_choice(const std::optional<offload::Decision>& decision) {
    return decision && decision->choice == Backend::cpu && decision->basis != offload::Basis::forced;
}

/// Empty for none, and for one that is not there.
std::string uuid_of(int ordinal) {
    if (ordinal < 0) return {};
    for (const gpu::Device& device : gpu::inventory().devices)
        if (device.ordinal == ordinal) return device.uuid;
    return {};
}

std::string milliseconds(double s) { return fmt::format("{:.3g} ms", 1e3 * s); }

}  // namespace

struct Fitter::State {
    GpuSeats seats;
    std::mutex mutex;             // for what follows
    Weighing weighing;            // of Backend::automatic
    std::optional<Backend> told;  // which side on_decision was told of last
    double on_gpus_s = 0;         // that they have fitted

    /// Who shall fit a stack.
    struct Plan {
        std::optional<offload::Decision> decision;
        int gpus = 0, most_gpus = 0;  // at once; that the Fitter may hold
        double cpu_share = 0;         // beside them; 0: not
    };
    void fit(const Stack& stack, FitInfo& info);
    int most_gpus(int wanted);
    Plan plan(const Stack& stack, FitInfo& info);
    offload::Decision weigh(const Stack& stack, FitInfo& info);
    bool is_pinned(const RoiView& rois);
    void spread(Plan& plan, FitInfo& info) const;
    bool fit_on_gpus(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info);
    void let_learn(OnGpus& on_gpus, const FitOptions& options);
    void fit_the_rest(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info);
    std::string why_cpu(std::int64_t finished, const FitInfo& info) const;
};

Fitter::Fitter() : state_(std::make_unique<State>()) {}
Fitter::~Fitter() = default;

Fits Fitter::fit(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    check(view(rois), psf, pixel_size_um, options);
    if (rois.pixels.size() % (std::size_t(rois.size) * rois.size) != 0)
        throw OptionError(
            fmt::format("{} pixels are no whole number of {}x{} ROIs", rois.pixels.size(), rois.size, rois.size));
    return fit(view(rois), psf, pixel_size_um, options, info);
}

Fits Fitter::fit(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    const Clock::time_point begin = Clock::now();
    check(rois, psf, pixel_size_um, options);
    FitInfo how;
    how.fits = std::int64_t(rois.count);
    Fits fits;
    fits.resize(psf.model, rois.count);
    const auto tell = [&] {
        how.seconds = seconds_since(begin);
        if (info) *info = how;
    };
    try {
        state_->fit({rois, psf, pixel_size_um, options, fits}, how);
    } catch (...) {
        tell();
        throw;
    }
    tell();
    return fits;
}

void Fitter::State::fit(const Stack& stack, FitInfo& info) {
    const Plan who = plan(stack, info);
    const auto tell = [&](std::int64_t finished) { stack.options.progress(finished, info.fits, -1); };
    RowQueue queue({0, info.fits}, who.gpus + (who.cpu_share > 0),
                   stack.options.progress ? RowQueue::Told(tell) : RowQueue::Told());
    if (who.gpus > 0 && fit_on_gpus(stack, who, queue, info)) return;
    if (environment::backend(stack.options.backend) != Backend::cpu)
        info.note = who.gpus == 0 ? who.decision->reason() : why_cpu(queue.finished(), info);
    fit_the_rest(stack, who, queue, info);
}

/// Of FitOptions::gpus, that the Fitter may hold.
int Fitter::State::most_gpus(int wanted) {
    if (wanted == 1) return 1;
    return std::max(1, wanted == all_gpus ? seats.there() : std::min(wanted, seats.there()));
}

Fitter::State::Plan Fitter::State::plan(const Stack& stack, FitInfo& info) {
    Plan plan;
    const Backend backend = environment::backend(stack.options.backend);
    if (backend == Backend::cpu) return plan;
    plan.most_gpus = most_gpus(stack.rois.gpu < 0 ? stack.options.gpus : 1);  // where the pixels lie
    plan.gpus = useful_gpus(stack.rois, stack.options, plan.most_gpus);
    if (backend != Backend::automatic || !stack.options.weigh || seats.why_none() || info.fits == 0) return plan;
    const std::lock_guard lock(mutex);
    plan.decision = weigh(stack, info);
    spread(plan, info);
    info.decision = plan.decision->reason() + info.decision;
    if (stack.options.on_decision && told != plan.decision->choice) {
        const std::lock_guard one_at_a_time(seats.telling);
        stack.options.on_decision(info.decision + '\n' + plan.decision->table());
    }
    told = plan.decision->choice;
    if (is_by_choice(plan.decision)) plan.gpus = 0;
    return plan;
}

/// Asks the cost model; where nobody knows how fast the CPU is with such fits, by fitting a few there first.
offload::Decision Fitter::State::weigh(const Stack& stack, FitInfo& info) {
    const PsfModel model = stack.psf.model;
    offload::Work work = fit_work(stack.rois, 0, model, stack.options);
    work.pinned = stack.rois.gpu < 0 && is_pinned(stack.rois);
    const std::int64_t count = info.fits, sample = sample_of_each_thread * environment::threads();
    if (offload::driver_is_there() && count > 2 * sample && !weighing.knows_cpu(work)) {
        double best_s = std::numeric_limits<double>::infinity();
        for (int k = 0; k < 2; ++k) {  // the first one starts threads
            const Clock::time_point began = Clock::now();
            FitInfo unused;
            fit_on_cpu(stack.rois, stack.psf, stack.pixel_size_um, stack.options, {count - sample, count}, stack.fits,
                       unused);  // not yet final
            best_s = std::min(best_s, seconds_since(began));
        }
        weighing.learn(fit_work(stack.rois, count - sample, model, stack.options), Backend::cpu, best_s);
    }
    return weighing.decide(work, stack.options.gpu_memory_bytes, seats.held() > 0);
}

/// Whether the pixels lie in page-locked memory; without a context there is none.
bool Fitter::State::is_pinned(const RoiView& rois) {
    std::unique_ptr<GpuSeat> seat = seats.take_idle();
    if (!seat) return false;
    const gpu::detail::ContextState& home = seat->fitter.context().state();
    const bool pinned = gpu::detail::is_pinned(home, rois.pixels, rois.count * rois.roi_bytes());
    seats.put_back(std::move(seat));
    return pinned;
}

/// The decision is for one GPU: what several make of it, in info.decision what there is to say of that.
void Fitter::State::spread(Plan& plan, FitInfo& info) const {
    offload::Decision& decision = *plan.decision;
    if (plan.most_gpus == 1 || !is_estimate(decision)) return;
    const Together alone = together(decision, 1), all = together(decision, plan.gpus);
    const double cpu_s = decision.cpu.total();
    if (decision.choice == Backend::cpu && all.gpus_s < cpu_s)
        decision.choice = Backend::gpu, decision.speedup = cpu_s / all.gpus_s;
    if (decision.choice == Backend::cpu) return;
    // A further one is opened when those that are open have been busy for as long as that takes, or will be.
    if (alone.gpus_s + on_gpus_s < further_gpu_s * seats.held()) {
        plan.most_gpus = std::max(1, seats.held());
        plan.gpus = std::min(plan.gpus, plan.most_gpus);
    }
    const Together now = together(decision, plan.gpus);
    if (plan.gpus > 1) info.decision += fmt::format("; {} GPUs take {}", plan.gpus, milliseconds(now.gpus_s));
    if (!now.cpu_pays()) return;
    plan.cpu_share = now.cpu_share;
    info.decision +=
        fmt::format("; the CPU joins in: {} instead of {}", milliseconds(now.with_cpu_s), milliseconds(now.gpus_s));
}

bool Fitter::State::fit_on_gpus(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info) {
    const auto serve = [&](GpuFitter& gpu, RowShare& share, FitInfo& part) {
        gpu.fit(stack.rois, stack.psf, stack.pixel_size_um, stack.options, view(stack.fits), share, &part);
    };
    const GpuTask task{stack.options, queue, info.fits == 0, uuid_of(stack.rois.gpu), serve};
    OnGpus on_gpus(seats, task, plan.gpus, plan.most_gpus, info);
    const std::optional<offload::Decision>& decision = plan.decision;
    if (decision && is_estimate(*decision))  // what it would save
        on_gpus.wait_at_most(decision->cpu.total() - (together(*decision, plan.gpus).gpus_s - decision->gpu.wait_s));
    let_learn(on_gpus, stack.options);
    std::optional<BesideGpus> cpu;
    if (plan.cpu_share > 0) {
        cpu.emplace(stack, queue, seats, plan.cpu_share, plan.gpus);
        on_gpus.finished_by_others = &cpu->finished();
    }
    const bool done = on_gpus.run();
    if (cpu) cpu->join(info);
    const std::lock_guard lock(mutex);
    for (const GpuPart& part : info.gpus) on_gpus_s += part.seconds;
    if (on_gpus.waited_in_vain()) weighing.in_vain();
    if (decision && on_gpus.undisturbed_seconds() > 0)
        on_gpus.opened() ? weighing.learn_first(*decision, on_gpus.undisturbed_seconds())
                         : weighing.learn(decision->work, Backend::gpu, on_gpus.undisturbed_seconds());
    return done;
}

/// What it takes to open a GPU.
void Fitter::State::let_learn(OnGpus& on_gpus, const FitOptions& options) {
    if (environment::backend(options.backend) != Backend::automatic || !options.weigh) return;
    on_gpus.on_opened = [this](const GpuSeat& seat, double seconds) {
        const std::lock_guard lock(mutex);
        weighing.opened(seat.uuid, seconds, seat.fitter.context());
    };
}

void Fitter::State::fit_the_rest(const Stack& stack, const Plan& plan, RowQueue& queue, FitInfo& info) {
    const Clock::time_point began = Clock::now();
    const bool all = queue.finished() == 0;
    do {
        const RowRange rows = queue.take(info.fits);
        fit_on_cpu(stack.rois, stack.psf, stack.pixel_size_um, stack.options, rows, stack.fits, info,
                   [&](std::int64_t count) { queue.finish(count); });
    } while (!queue.is_finished());
    if (!plan.decision || !all) return;
    const std::lock_guard lock(mutex);
    weighing.learn(plan.decision->work, Backend::cpu, seconds_since(began));
    if (is_by_choice(plan.decision)) weighing.forgo(*plan.decision, seconds_since(began));
}

bool Fitter::run_on_gpus(const GpuWork& work, const FitOptions& options, FitInfo& info) {
    RowQueue queue({0, std::numeric_limits<std::int64_t>::max()});  // of fits: how many there are shows at the end
    const auto serve = [&](GpuFitter& gpu, RowShare& share, FitInfo& part) {
        std::mutex one_at_a_time;
        const auto done = [&](std::int64_t fits) {
            const std::lock_guard lock(one_at_a_time);
            share.finish(share.take(fits));
        };
        work.lend(gpu, done, part);
        queue.end();
    };
    const GpuTask task{options, queue, work.total == 0, {}, serve};
    const int most = state_->most_gpus(options.gpus);
    OnGpus on_gpus(state_->seats, task, std::min(most, work.gpus), most, info);
    on_gpus.wait_at_most(work.most_wait_s);
    state_->let_learn(on_gpus, options);
    const bool done = on_gpus.run() && work.ended();
    if (!done) info.note = state_->why_cpu(work.finished(), info);
    return done;
}

std::string Fitter::State::why_cpu(std::int64_t finished, const FitInfo& info) const {
    const std::exception_ptr why = seats.why_none();
    if (!why)
        return fmt::format("fitted on the CPU: to wait longer for a GPU does not pay: {}",
                           info.events.empty() ? "it is taken" : info.events.back().what);
    try {
        std::rethrow_exception(why);
    } catch (const gpu::GpuError& error) {
        return finished == 0
                   ? fmt::format("fitted on the CPU: {}", error.what())
                   : fmt::format("the GPU fitted {} of {}, the CPU the rest: {}", finished, info.fits, error.what());
    }
}

Fits fit(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    return Fitter().fit(rois, psf, pixel_size_um, options, info);
}

Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    return Fitter().fit(rois, psf, pixel_size_um, options, info);
}

}  // namespace glint
