// One stack's way over the GPUs.
//
// Each GPU has a thread. What goes wrong on one costs only the rows without a result: they go back to the queue, for
// whoever asks next. The first thread waits for a GPU as long as it may; the others take what is free, look again now
// and then, and never keep anybody waiting in the queue for leases.
// SPDX-License-Identifier: MIT
#include "fit/on_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr int cuda_unknown = 999;
constexpr std::uint64_t room_to_spare = std::uint64_t(64) << 20;  // a pool grows by 32 MiB
constexpr int most_failures = 8;  // one after the other, though the GPU was not full: it will not do
constexpr double first_pause_s = 0.05, longest_pause_s = 2, slice_s = 0.05, look_again_s = 0.5;
constexpr double notable_wait_s = 0.1;
constexpr std::size_t worth_a_gpu = std::size_t(16) << 20;  // bytes of pixels: a batch that fills the link

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Somebody has what this needs: no fault of the GPU, however often it happens. A full GPU refuses a context by 999
/// too.
bool is_full(const gpu::GpuError& error, bool opening) {
    const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
    if (opening) return memory || error.code == cuda_unknown;
    return memory && memory->free_bytes > 0 && memory->free_bytes < memory->asked_bytes + room_to_spare;
}

}  // namespace

int useful_gpus(const RoiView& rois, const FitOptions& options, int most) {
    const std::size_t each =
        options.gpu_batch_size > 0 ? std::size_t(options.gpu_batch_size) : worth_a_gpu / rois.roi_bytes();
    return int(std::clamp<std::size_t>((rois.count + each - 1) / each, 1, std::size_t(std::max(1, most))));
}

OnGpus::OnGpus(GpuSeats& seats, const GpuTask& task, int threads, int most, FitInfo& info)
    : seats_(seats),
      task_(task),
      options_(task.options),
      queue_(task.queue),
      threads_(threads),
      most_(most),
      info_(info),
      strict_(environment::backend(options_.backend) == Backend::gpu),
      patience_s_(strict_ ? options_.gpu_timeout_s : options_.auto_timeout_s) {}

bool OnGpus::run() {
    const bool served = serve(true);
    first_gone_ = true;
    for (std::thread& other : others_) other.join();
    if (error_) std::rethrow_exception(error_);
    const bool done = queue_.is_finished() && (served || !is_empty());
    if (!done && failure_ && seats_.held() == 0) seats_.set_why_none(failure_);
    if (!done && strict_) std::rethrow_exception(failure_ ? failure_ : seats_.why_none());
    return done;
}

double OnGpus::undisturbed_seconds() const {
    return info_.retries == 0 && info_.gpus.size() == 1 && info_.cpu_fits == 0 ? on_gpu_s_ : 0;
}

/// False: it could not.
bool OnGpus::serve(bool first) {
    Hand hand;
    bool able = true;
    try {
        // An empty stack opens a GPU too: Backend::gpu says whether there is one.
        for (bool begin = first; able && (begin || queue_.wait_for_rows(options_.stop)); begin = false)
            able = attempt(hand, first);
    } catch (...) {
        queue_.close();
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
    seats_.put_back(std::move(hand.seat));
    return able;
}

/// False: there is no GPU for this thread any more.
bool OnGpus::attempt(Hand& hand, bool first) {
    try {
        if (!hand.seat && !find_seat(hand, first)) return false;
        if (!hand.seat) return true;  // others have finished
        if (first) call_others();
        serve_with(hand);
        return true;
    } catch (const gpu::LeaseTimeout& timeout) {
        if (pays_s_ < patience_s_) {
            tell(timeout.what());
            in_vain_ = true;
            return false;
        }
        const gpu::LeaseTimeout in_all(after_failure(timeout), timeout.required_bytes, timeout.available_bytes);
        tell(in_all.what());
        return give_up(std::make_exception_ptr(in_all));
    } catch (const gpu::NoGpu& none) {
        const gpu::NoGpu in_all(none.code, seats_.avoids_any() ? after_failure(none) : none.what());
        tell(in_all.what());
        return give_up(std::make_exception_ptr(in_all));
    } catch (const gpu::GpuError& error) {
        tell(error.what());
        const std::exception_ptr thrown = std::current_exception();
        {
            const std::lock_guard lock(mutex_);
            last_failure_ = error.what();
        }
        return try_again(hand, error) || give_up(thrown);
    }
}

/// Always false.
bool OnGpus::give_up(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    if (seats_.held() == 0) seats_.set_why_none(why);  // else others go on
    return false;
}

/// False: there is none for this thread. True with an empty hand: nothing is left to do.
bool OnGpus::find_seat(Hand& hand, bool first) {
    while (!seats_.why_none()) {
        if (options_.stop && *options_.stop) throw Cancelled("stopped while waiting for a GPU");
        if ((hand.seat = seats_.take_idle(task_.near))) break;
        const bool somebody_has_one = seats_.held() > 0;
        if ((first || somebody_has_one) && seats_.may_ask(most_)) open(hand, first);
        if (hand.seat) break;
        if (first) {
            if (!is_empty() && queue_.wait_for_end(0)) return true;
            seats_.wait(slice_s);
        } else {
            if (!somebody_has_one && first_gone_) return false;
            if (queue_.wait_for_end(somebody_has_one ? look_again_s : slice_s)) return true;
        }
    }
    if (!hand.seat) return false;
    hand.uuid = hand.seat->uuid;
    return true;
}

void OnGpus::open(Hand& hand, bool first) {
    require_gpu_kernels();
    std::unique_lock turn = seats_.turn_to_ask();
    if ((hand.seat = seats_.take_idle(task_.near)) || seats_.why_none() || !seats_.may_ask(most_)) return;
    const Clock::time_point asked = Clock::now();
    const bool further = seats_.held() > 0;
    if (!first && !further) return;  // it has just been lost: the first thread waits for another
    hand.uuid.clear();
    std::optional<gpu::Lease> lease = further ? ask_for_further() : ask_for_first();
    if (!lease) return;
    hand.uuid = lease->devices().front().uuid;
    seats_.leased(hand.uuid);
    turn.unlock();
    const double waited_s = lease->waited_s();
    if (waited_s > notable_wait_s)
        tell(fmt::format("waited {:.1f} s for {} ({})", waited_s, lease->devices().front().name, hand.uuid));
    try {
        hand.seat = std::make_unique<GpuSeat>(std::move(*lease), options_.gpu_batch_size);
    } catch (...) {
        lease.reset();
        seats_.give_up(hand.uuid);
        throw;
    }
    opened_ = true;
    if (!further && on_opened) on_opened(*hand.seat, seconds_since(asked) - waited_s);
}

gpu::LeaseRequest OnGpus::request() {
    return {.bytes = options_.gpu_memory_bytes,
            .avoid = seats_.not_wanted(task_.near),
            .on_wait =
                [this](double elapsed_s, std::uint64_t available, std::uint64_t required) {
                    const std::lock_guard lock(seats_.telling);
                    if (options_.on_wait) options_.on_wait(elapsed_s, available, required);
                },
            .stop = finished_by_others ? finished_by_others : options_.stop,
            .log = [this](const std::string& words) { tell(words); }};
}

std::optional<gpu::Lease> OnGpus::ask_for_first() {
    gpu::LeaseRequest wanted = request();
    wanted.timeout_s = std::max(0.0, std::min(patience_s_, pays_s_) - seconds_since(queue_.progressed()));
    const Clock::time_point asked = Clock::now();
    const auto note = [&](double seconds) {
        const std::lock_guard lock(mutex_);
        info_.waited_seconds += seconds;
    };
    try {
        gpu::Lease lease = gpu::acquire(wanted);
        note(lease.waited_s());
        return lease;
    } catch (const Cancelled&) {
        note(seconds_since(asked));
        if (queue_.wait_for_end(0) && queue_.is_finished()) return {};
        throw;
    } catch (...) {
        note(seconds_since(asked));
        throw;
    }
}

/// Now or not at all: whoever waits for a first one goes before.
std::optional<gpu::Lease> OnGpus::ask_for_further() {
    gpu::LeaseRequest wanted = request();
    wanted.timeout_s = 0;
    if (told_of_refusal_) wanted.log = {};
    try {
        return gpu::acquire(wanted);
    } catch (const gpu::GpuError& error) {
        seats_.refused();
        if (!told_of_refusal_.exchange(true)) tell(fmt::format("no further GPU now: {}", error.what()));
        return {};
    }
}

void OnGpus::call_others() {
    if (std::exchange(others_called_, true)) return;
    try {
        for (int k = 1; k < threads_; ++k) others_.emplace_back([this] { serve(false); });
    } catch (const std::system_error&) {
        // Fewer threads than wished for: slower, not wrong.
    }
}

void OnGpus::serve_with(Hand& hand) {
    RowShare share(queue_);
    FitInfo part;
    const Clock::time_point began = Clock::now();
    try {
        task_.serve(hand.seat->fitter, share, part);
    } catch (const gpu::GpuError&) {
        if (share.finished() > 0) hand.failures = 0;
        if (options_.restart_batches) share.give_back_finished();
        note(*hand.seat, part, share.finished(), seconds_since(began));
        throw;
    } catch (...) {
        note(*hand.seat, part, share.finished(), seconds_since(began));
        throw;
    }
    hand.failures = 0;
    note(*hand.seat, part, share.finished(), seconds_since(began));
}

void OnGpus::note(const GpuSeat& seat, FitInfo part, std::int64_t fits, double seconds) {
    if (fits > 0) part.gpus = {{seat.name, seat.uuid, fits, seconds, 0}};
    const std::lock_guard lock(mutex_);
    on_gpu_s_ += seconds;
    info_.backend = part.backend, info_.device = part.device;
    info_.batches += part.batches, info_.batch_size = std::max(info_.batch_size, part.batch_size);
    add_gpu_part(info_, part);
}

/// Gives the GPU back, and waits a little where that helps. False: nothing helps.
bool OnGpus::try_again(Hand& hand, const gpu::GpuError& error) {
    const bool opening = !hand.seat;
    const bool limit_was_lowered = !opening && hand.seat->limit_was_lowered();
    hand.seat.reset();
    if (!opening) seats_.give_up(hand.uuid);
    const bool lost = dynamic_cast<const gpu::DeviceLost*>(&error);  // another may do, without delay
    if (const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error); memory && memory->beyond_limit) {
        if (!limit_was_lowered) return false;
    } else if (!lost) {
        if (!is_full(error, opening) && ++hand.failures >= most_failures) {
            seats_.avoid(hand.uuid);
            tell(fmt::format("{} failed {} times one after the other: not asked again", hand.uuid, hand.failures));
            hand.failures = 0;
        }
        if (seconds_since(queue_.progressed()) >= patience_s_) return false;
        pause(hand);
    }
    const std::lock_guard lock(mutex_);
    ++info_.retries;
    return true;
}

void OnGpus::pause(Hand& hand) {
    static thread_local std::minstd_rand random{std::random_device()()};
    const double jitter = std::uniform_real_distribution<>(0.75, 1.25)(random);
    const double most_s = patience_s_ - seconds_since(queue_.progressed());
    const double pause_s = std::min(std::min(std::max(hand.pause_s, first_pause_s), longest_pause_s) * jitter, most_s);
    hand.pause_s = 2 * std::max(hand.pause_s, first_pause_s);
    for (const Clock::time_point began = Clock::now(); seconds_since(began) < pause_s;) {
        if (options_.stop && *options_.stop) throw Cancelled("stopped while waiting for a GPU");
        const double slice = std::max(0.0, std::min(slice_s, pause_s - seconds_since(began)));
        if (is_empty())
            std::this_thread::sleep_for(std::chrono::duration<double>(slice));
        else if (queue_.wait_for_end(slice))
            break;
    }
    const std::lock_guard lock(mutex_);
    info_.waited_seconds += pause_s;
}

void OnGpus::tell(const std::string& what) {
    {
        const std::lock_guard lock(mutex_);
        info_.events.push_back({seconds_since(began_), what});
    }
    const std::lock_guard lock(seats_.telling);
    if (options_.log) options_.log(what);
}

/// What a GPU did before there was none any more.
std::string OnGpus::after_failure(const gpu::GpuError& error) const {
    const std::lock_guard lock(mutex_);
    return last_failure_.empty() ? error.what() : fmt::format("{} (before: {})", error.what(), last_failure_);
}

}  // namespace glint
