// Fits stack after stack: on a GPU that others use too, as long as one can be had, or on the CPU.
//
// What goes wrong on a GPU costs only the rows without a result. They are tried again, on the same GPU or another,
// until for some time nothing has been achieved: then the CPU does them, or the caller learns why not.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "fit/fit_setup.hpp"
#include "fit/weigh.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"

namespace glint {
namespace {

constexpr int cuda_unknown = 999;
constexpr std::uint64_t room_to_spare = std::uint64_t(64) << 20;  // a pool grows by 32 MiB
constexpr int most_failures = 8;  // one after the other, though the GPU was not full: it will not do
constexpr double first_pause_s = 0.05, longest_pause_s = 2, slice_s = 0.05;
constexpr double notable_wait_s = 0.1;

constexpr std::int64_t sample_of_each_thread = 2048;  // ROIs

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The CPU, though there is a GPU.
bool is_by_choice(const std::optional<offload::Decision>& decision) {
    return decision && decision->choice == offload::Side::cpu && decision->basis != offload::Basis::forced;
}

}  // namespace

struct Fitter::State {
    std::mutex mutex;  // for what follows: one call at a time is on the GPU
    std::optional<GpuFitter> gpu;
    std::uint64_t memory_limit = 0;     // of `gpu` as it began
    std::vector<std::string> avoid;     // UUIDs of GPUs that will not do
    std::exception_ptr why_no_gpu;      // there is none to be had any more
    Weighing weighing;                  // of Backend::automatic
    std::optional<offload::Side> told;  // which side on_decision was told of last
    std::string why_cpu(std::int64_t finished, const FitInfo& info) const;
    offload::Decision weigh(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options,
                            Fits& fits, FitInfo& info);
    class OneWork;
};

/// One call's way over the GPUs.
class Fitter::State::OneWork {
  public:
    OneWork(State& state, const GpuWork& work, const FitOptions& options, FitInfo& info)
        : state_(state),
          work_(work),
          options_(options),
          info_(info),
          strict_(chosen(options.backend) == Backend::gpu),
          patience_s_(strict_ ? options.gpu_timeout_s : options.auto_timeout_s) {}

    /// True: all is done. False: the rest is for the CPU. Throws what nothing helps against.
    bool run() {
        while (!state_.why_no_gpu) {
            try {
                if (!state_.gpu) open();
                do_the_rest();
                return true;
            } catch (const gpu::LeaseTimeout& timeout) {
                if (pays_s_ < patience_s_) {  // a later stack may be worth more waiting
                    tell(timeout.what());
                    state_.weighing.in_vain();
                    return false;
                }
                give_up(gpu::LeaseTimeout(after_failure(timeout), timeout.required_bytes, timeout.available_bytes));
            } catch (const gpu::NoGpu& none) {
                give_up(gpu::NoGpu(none.code, state_.avoid.empty() ? none.what() : after_failure(none)));
            } catch (const gpu::GpuError& error) {
                last_failure_ = error.what();
                tell(error.what());
                if (!try_again(error)) state_.why_no_gpu = std::current_exception();
            }
        }
        if (strict_) std::rethrow_exception(state_.why_no_gpu);
        return false;
    }
    /// On the GPU, when nothing went wrong; 0: else.
    double undisturbed_seconds() const { return info_.retries == 0 ? on_gpu_s_ : 0; }
    bool opened() const { return opened_; }

  private:
    void open() {
        require_gpu_kernels();
        uuid_.clear();
        const Clock::time_point asked = Clock::now();
        std::optional<gpu::Lease> lease;
        try {
            lease =
                gpu::acquire({.bytes = options_.gpu_memory_bytes,
                              .timeout_s = std::max(0.0, std::min(patience_s_, pays_s_) - seconds_since(progressed_)),
                              .avoid = state_.avoid,
                              .on_wait = options_.on_wait,
                              .stop = options_.stop,
                              .log = [this](const std::string& words) { tell(words); }});
        } catch (...) {
            info_.waited_seconds += seconds_since(asked);
            throw;
        }
        uuid_ = lease->devices().front().uuid;
        const double waited_s = lease->waited_s();
        info_.waited_seconds += waited_s;
        if (waited_s > notable_wait_s)
            tell(fmt::format("waited {:.1f} s for {} ({})", waited_s, lease->devices().front().name, uuid_));
        state_.gpu.emplace(std::move(*lease), options_.gpu_batch_size);
        opened_ = true;
        if (!strict_ && options_.weigh)
            state_.weighing.opened(uuid_, seconds_since(asked) - waited_s, state_.gpu->context());
        state_.memory_limit = state_.gpu->context().statistics().limit_bytes;
    }

    void do_the_rest() {
        const std::int64_t before = work_.finished();
        FitInfo part;
        const Clock::time_point began = Clock::now();
        const auto note = [&] {
            on_gpu_s_ += seconds_since(began);
            add_gpu_part(info_, part);
            info_.backend = part.backend, info_.device = part.device;
            info_.batches += part.batches, info_.batch_size = std::max(info_.batch_size, part.batch_size);
            if (work_.finished() > before) progressed_ = Clock::now(), failures_ = 0;
        };
        try {
            work_.go_on(*state_.gpu, part);
        } catch (...) {
            note();
            throw;
        }
        note();
    }

    /// Gives the GPU back, and waits a little where that helps. False: nothing helps.
    bool try_again(const gpu::GpuError& error) {
        const bool opening = !state_.gpu;
        const bool limit_was_lowered = !opening && state_.gpu->context().statistics().limit_bytes < state_.memory_limit;
        state_.gpu.reset();
        if (work_.start_over && options_.restart_batches) work_.start_over();
        const bool lost = dynamic_cast<const gpu::DeviceLost*>(&error);  // another may do, without delay
        if (const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error); memory && memory->beyond_limit) {
            if (!limit_was_lowered) return false;
        } else if (!lost) {
            if (!is_full(error, opening) && ++failures_ >= most_failures) {
                state_.avoid.push_back(uuid_);
                tell(fmt::format("{} failed {} times one after the other: not asked again", uuid_, failures_));
                failures_ = 0;
            }
            if (seconds_since(progressed_) >= patience_s_) return false;
            pause();
        }
        ++info_.retries;
        return true;
    }

    /// Somebody has what this needs: no fault of the GPU, however often it happens. A full GPU refuses a context by 999
    /// too.
    static bool is_full(const gpu::GpuError& error, bool opening) {
        const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
        if (opening) return memory || error.code == cuda_unknown;
        return memory && memory->free_bytes > 0 && memory->free_bytes < memory->asked_bytes + room_to_spare;
    }

    template <class Error>
    void give_up(const Error& error) {
        tell(error.what());
        state_.why_no_gpu = std::make_exception_ptr(error);
    }
    /// What a GPU did before there was none any more.
    std::string after_failure(const gpu::GpuError& error) const {
        return last_failure_.empty() ? error.what() : fmt::format("{} (before: {})", error.what(), last_failure_);
    }

    void pause() {
        static thread_local std::minstd_rand random{std::random_device()()};
        const double jitter = std::uniform_real_distribution<>(0.75, 1.25)(random);
        const double most_s = patience_s_ - seconds_since(progressed_);
        const double pause_s = std::min(std::min(pause_s_, longest_pause_s) * jitter, most_s);
        pause_s_ *= 2;
        for (const Clock::time_point began = Clock::now(); seconds_since(began) < pause_s;) {
            if (options_.stop && *options_.stop) throw Cancelled("stopped while waiting for a GPU");
            std::this_thread::sleep_for(
                std::chrono::duration<double>(std::min(slice_s, pause_s - seconds_since(began))));
        }
        info_.waited_seconds += pause_s;
    }

    void tell(const std::string& what) {
        info_.events.push_back({seconds_since(began_), what});
        if (options_.log) options_.log(what);
    }

    State& state_;
    const GpuWork& work_;
    const FitOptions& options_;
    FitInfo& info_;
    const bool strict_;  // the CPU will not do
    const double patience_s_;
    const double pays_s_ = std::max(0.0, work_.most_wait_s);
    double on_gpu_s_ = 0;
    bool opened_ = false;
    const Clock::time_point began_ = Clock::now();
    Clock::time_point progressed_ = began_;  // when something was last finished
    int failures_ = 0;
    double pause_s_ = first_pause_s;
    std::string uuid_, last_failure_;  // of the GPU in hand
};

Fitter::Fitter() : state_(std::make_unique<State>()) {}
Fitter::~Fitter() = default;

Fits Fitter::fit(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    const Clock::time_point begin = Clock::now();
    check(view(rois), psf, pixel_size_um, options);
    const std::size_t edge = std::size_t(rois.size);
    if (rois.pixels.size() % (edge * edge) != 0)
        throw OptionError(
            fmt::format("{} pixels are no whole number of {}x{} ROIs", rois.pixels.size(), rois.size, rois.size));
    FitInfo how;
    how.fits = std::int64_t(rois.count());
    Fits fits;
    fits.resize(psf.model, rois.count());
    std::int64_t finished = 0;
    bool done = false;
    const auto tell = [&] {
        how.seconds = seconds_since(begin);
        if (info) *info = how;
    };
    try {
        const Backend backend = chosen(options.backend);
        std::optional<offload::Decision> decision;
        if (backend != Backend::cpu) {
            const std::lock_guard lock(state_->mutex);
            if (backend == Backend::automatic && options.weigh && !state_->why_no_gpu && rois.count() > 0)
                decision = state_->weigh(rois, psf, pixel_size_um, options, fits, how);
            GpuWork work{[&](GpuFitter& gpu, FitInfo& part) {
                             gpu.fit(view(rois), psf, pixel_size_um, options, view(fits), &part, &finished);
                         },
                         [&] { return finished; }};
            work.start_over = [&] { finished = 0; };
            if (decision && decision->choice == offload::Side::gpu && decision->basis != offload::Basis::rules)
                work.most_wait_s = decision->cpu.total() - (decision->gpu.total() - decision->gpu.wait_s);
            State::OneWork on_gpu(*state_, work, options, how);
            if (!is_by_choice(decision)) {
                done = on_gpu.run();
                if (decision && on_gpu.undisturbed_seconds() > 0)
                    on_gpu.opened()
                        ? state_->weighing.learn_first(*decision, on_gpu.undisturbed_seconds())
                        : state_->weighing.learn(decision->work, offload::Side::gpu, on_gpu.undisturbed_seconds());
            }
            if (!done) how.note = is_by_choice(decision) ? decision->reason() : state_->why_cpu(finished, how);
        }
        if (!done) {
            const Clock::time_point began = Clock::now();
            fit_on_cpu(rois, psf, pixel_size_um, options, finished, fits, how);
            if (decision && finished == 0) {
                const std::lock_guard lock(state_->mutex);
                state_->weighing.learn(decision->work, offload::Side::cpu, seconds_since(began));
                if (is_by_choice(decision)) state_->weighing.forgo(*decision, seconds_since(began));
            }
        }
    } catch (...) {
        tell();
        throw;
    }
    tell();
    return fits;
}

bool Fitter::run_on_gpu(const GpuWork& work, const FitOptions& options, FitInfo& info) {
    const std::lock_guard lock(state_->mutex);
    State::OneWork on_gpu(*state_, work, options, info);
    const bool done = on_gpu.run();
    if (!done) info.note = state_->why_cpu(work.finished(), info);
    return done;
}

/// Asks the cost model; where nobody knows how fast the CPU is with such fits, by fitting a few there first.
offload::Decision Fitter::State::weigh(const Rois& rois, const Psf& psf, double pixel_size_um,
                                       const FitOptions& options, Fits& fits, FitInfo& info) {
    const RoiView all = view(rois);
    const offload::Work work = fit_work(all, 0, psf.model, options);
    const std::int64_t count = std::int64_t(rois.count()), sample = sample_of_each_thread * environment::threads();
    if (offload::driver_is_there() && count > 2 * sample && !weighing.knows_cpu(work)) {
        double best_s = std::numeric_limits<double>::infinity();
        for (int k = 0; k < 2; ++k) {  // the first one starts threads
            const Clock::time_point began = Clock::now();
            FitInfo unused;
            fit_on_cpu(rois, psf, pixel_size_um, options, count - sample, fits, unused);  // last rows, not yet final
            best_s = std::min(best_s, seconds_since(began));
        }
        weighing.learn(fit_work(all, count - sample, psf.model, options), offload::Side::cpu, best_s);
    }
    const offload::Decision decision = weighing.decide(work, options.gpu_memory_bytes, gpu.has_value());
    info.decision = decision.reason();
    if (options.on_decision && told != decision.choice) options.on_decision(info.decision + '\n' + decision.table());
    told = decision.choice;
    return decision;
}

std::string Fitter::State::why_cpu(std::int64_t finished, const FitInfo& info) const {
    if (!why_no_gpu)
        return fmt::format("fitted on the CPU: to wait longer for a GPU does not pay: {}",
                           info.events.empty() ? "it is taken" : info.events.back().what);
    const std::int64_t count = info.fits;
    try {
        std::rethrow_exception(why_no_gpu);
    } catch (const gpu::GpuError& error) {
        return finished == 0
                   ? fmt::format("fitted on the CPU: {}", error.what())
                   : fmt::format("the GPU fitted {} of {}, the CPU the rest: {}", finished, count, error.what());
    }
}

Fits fit(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, FitInfo* info) {
    return Fitter().fit(rois, psf, pixel_size_um, options, info);
}

}  // namespace glint
