// Sessions: open the GPU when that pays off, time operations, and record failures.
//
// How a decision is made: run() calls decide.cpp, which uses neither a clock nor a GPU. It compares the estimates of
// Machine::estimate (machine.cpp) for both sides: rates of this machine, times a correction by size (curve.cpp).
// Machine::learn updates that correction after each run and keeps it in the user's cache. gpu_forecast.cpp predicts the
// wait and the contention of a GPU that is not open. measure.cpp measures the link when a GPU is first opened. After a
// failure the session cleans up, records it, and gives the work to the CPU. The Advisor (advisor.cpp), which Fitters
// and movies also use, keeps the state between two operations.
// SPDX-License-Identifier: MIT
#include "glint/offload/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/advice.hpp"
#include "offload/advisor.hpp"
#include "offload/device_pool.hpp"

namespace glint::offload {
namespace {

constexpr std::uint64_t min_lease = std::uint64_t(1) << 30;
constexpr double initial_backoff_s = 1, max_backoff_s = 300;
// Between two attempts to create a context: on_wait, which may end the wait, is not called meanwhile.
constexpr double first_pause_s = 0.05, max_pause_s = 0.5;
constexpr double preferred_timeout_s = 300;  // of Backend::prefer_gpu without a limit: as Placement::auto_timeout_s
constexpr std::size_t max_fallbacks = 100;
// Only some calls are timed: timing every call would cost more than it gains. Calls whose result stays on the GPU are
// asynchronous, and timing them needs a synchronization, during which the GPU idles for some 10 us.
constexpr std::uint64_t first_timed = 64, timed_interval = 16, first_synchronized = 3;
constexpr std::chrono::milliseconds synchronize_interval(5);

bool stays_on_gpu(const Work& work) { return work.bytes_from_gpu == 0; }

std::atomic<bool> oom_safe_in_process{true};
std::atomic<int> unified_set{-1};  // by set_unified_by_default(); -1: not set yet

/// Returns the UUIDs of all GPUs but this one. Throws NoGpu if there is no GPU of that number.
std::vector<std::string> all_but(int device) {
    std::vector<std::string> others;
    if (device < 0) return others;
    const gpu::Inventory inventory = gpu::inventory();
    bool found = false;
    for (const gpu::Device& one : inventory.devices)
        if (one.ordinal == device)
            found = true;
        else
            others.push_back(one.uuid);
    if (!found) throw gpu::NoGpu(0, why_not_device(inventory, device));
    return others;
}

}  // namespace

struct Session::State {
    struct OpenGpu final : Device {
        OpenGpu(gpu::Lease of, const SessionOptions& options)
            : Device(of),
              lease(std::move(of)),
              own_context(lease.create_context(0, {.separate = true, .log = options.log})),
              stream(own_context) {
            if (options.on_wanted) lease.on_wanted([wanted = options.on_wanted](double) { wanted(); });
            if (options.on_pressure) own_context.on_pressure(options.on_pressure);
        }
        ~OpenGpu() override {
            while (!kept.empty()) kept.pop_back();
        }
        const gpu::Context& context() const override { return own_context; }
        gpu::Lease lease;
        gpu::Context own_context;
        gpu::Stream stream;
        std::vector<std::pair<const void*, std::unique_ptr<Kept>>> kept;  // destroyed first, in reverse order
    };

    SessionOptions options;
    bool oom_safe = true;
    int threads = 1;
    std::uint64_t threshold_bytes = 0;

    Advisor advisor;
    std::string why_given_up;  // why no GPU is used until `retry_after`
    Clock::time_point retry_after{};
    double backoff_s = initial_backoff_s;

    DevicePool pool;
    std::unique_ptr<OpenGpu> gpu;  // taken from the pool; null while no GPU is open
    std::set<std::string, std::less<>> libraries;
    Clock::time_point synchronized{};  // last synchronization for timing
    Clock::time_point used{};          // when the GPU was last requested
    Clock::time_point opened{};
    double busy_s = 0;  // in operations on the GPU, since it was opened

    std::map<std::uint64_t, OperationStatistics> statistics;
    std::uint64_t failures = 0, fallbacks = 0;
    std::deque<Fallback> last_fallbacks;
    SideStatistics copies;
    std::set<std::string> warned;  // the reasons

    void say(const std::string& words) const {
        if (options.log) options.log(words);
    }
    std::uint64_t bytes_to_lease(const Work* work) const {
        if (options.gpu_memory_bytes > 0) return options.gpu_memory_bytes;
        return std::max(min_lease, work ? 4 * work->gpu_bytes : 0);
    }
    /// Maximum wait for a GPU.
    double timeout_s() const {
        return options.choice == Backend::prefer_gpu && std::isinf(options.gpu_timeout_s) ? preferred_timeout_s
                                                                                          : options.gpu_timeout_s;
    }
    /// The inputs of a decision. Queries the GPUs at most once a second, and not while a GPU is open.
    DecisionInputs decision_inputs(const Work& work) {
        DecisionInputs at;
        at.choice = options.choice, at.min_bytes = options.min_bytes, at.threshold_bytes = threshold_bytes;
        at.timeout_s = timeout_s(), at.unmeasured_timeout_s = 0;
        at.library_loaded = work.library.empty() || libraries.find(work.library) != libraries.end();
        at.context_open = gpu != nullptr;
        if (at.context_open || at.choice == Backend::cpu) return at;
        if (!why_given_up.empty() && Clock::now() < retry_after)
            at.why_no_gpu = why_given_up.c_str();
        else if (at.choice == Backend::automatic && advisor.too_short(work))
            at.why_no_gpu = "no GPU is open, and the CPU finishes before one would";
        else
            advisor.fill_forecast(at, bytes_to_lease(&work), options.device);
        return at;
    }

    /// If a process without a lease takes the memory or the last context first, waits for a GPU again, unless the CPU
    /// may do the work immediately.
    void open(const Work* work, double timeout_s) {
        const Clock::time_point began = Clock::now();
        for (double pause_s = first_pause_s;; pause_s = std::min(2 * pause_s, max_pause_s)) try {
                return open_once(work, std::max(0.0, timeout_s - seconds_since(began)));
            } catch (const gpu::GpuError& error) {
                const bool cpu_allowed = work && options.choice != Backend::gpu;
                if (cpu_allowed || !is_full(error, true) || seconds_since(began) + pause_s >= timeout_s) throw;
                say(fmt::format("{}: waiting for another GPU", error.what()));
                if (options.on_wait) options.on_wait(seconds_since(began), 0, bytes_to_lease(work));
                std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
            }
    }
    void open_once(const Work* work, double timeout_s) {
        gpu::Lease lease = gpu::acquire({.bytes = bytes_to_lease(work),
                                         .timeout_s = timeout_s,
                                         .avoid = all_but(options.device),
                                         .on_wait = options.on_wait,
                                         .for_context = true,
                                         .log = options.log});
        const Clock::time_point asked = Clock::now();
        try {
            const OpenDevice open = [&](gpu::Lease of) { return std::make_unique<OpenGpu>(std::move(of), options); };
            gpu.reset(static_cast<OpenGpu*>(pool.open(std::move(lease), open).release()));
            advisor.opened(gpu->uuid, seconds_since(asked), gpu->context());
        } catch (...) {
            close();
            throw;
        }
        opened = Clock::now(), busy_s = 0;
        why_given_up.clear(), backoff_s = initial_backoff_s;
        gpu->lease.publish_held();
    }
    /// Idle for a second; or, after a quantum, used for less than half of the time, if the session may wait for a GPU
    /// again without limit, or use the CPU.
    bool is_hardly_used() const {
        constexpr double idle_s = 1;
        if (seconds_since(used) >= idle_s) return true;
        const double had_s = seconds_since(opened);
        return had_s >= environment::gpu_quantum_s() && busy_s < had_s / 2 &&
               (options.choice != Backend::gpu || std::isinf(options.gpu_timeout_s));
    }
    void close() noexcept {
        pool.discard(std::move(gpu));
        advisor.closed();
        advisor.save();
    }
    /// Called between operations. Freed memory returns to the device when the device has executed the frees.
    void relieve_pressure() try {
        if (gpu && gpu->own_context.relieve_pressure() > 0) gpu->stream.synchronize();
    } catch (const gpu::GpuError&) {
        // The GPU was lost: the next operation reports it.
    }
    /// Uses no GPU for a while, with exponential backoff.
    void give_up(const std::string& why) {
        why_given_up = why;
        retry_after =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(backoff_s));
        backoff_s = std::min(max_backoff_s, backoff_s * 2);
    }
    void record_failure(std::string_view operation, const gpu::GpuError& error) {
        ++failures;
        say(fmt::format("{}: the GPU failed: {}", operation, error.what()));
    }
    void record_fallback(std::string_view operation, const gpu::GpuError& error) {
        const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
        ++fallbacks;
        last_fallbacks.push_back(
            {std::string(operation), error.what(), memory ? memory->asked_bytes : 0, memory ? memory->free_bytes : 0});
        if (last_fallbacks.size() > max_fallbacks) last_fallbacks.pop_front();
    }
    /// Warns once per reason. Messages about a lack of memory or a wait differ in their numbers, so each kind is one
    /// reason.
    void warn(std::string_view operation, const gpu::GpuError& error) {
        if (!options.warn) return;
        const bool memory = dynamic_cast<const gpu::OutOfMemory*>(&error),
                   timeout = dynamic_cast<const gpu::LeaseTimeout*>(&error);
        if (!warned.insert(memory ? "memory" : timeout ? "timeout" : error.what()).second) return;
        const gpu::FriendlyError words = gpu::explain_error(error);
        options.warn(fmt::format("{}: {}, and the CPU does it: {}; {}", operation,
                                 timeout ? "no GPU was free in time" : "the GPU failed", words.message,
                                 words.suggestion));
    }
    bool is_timed(const Work& work, Backend side, const OperationStatistics& of) const {
        const std::uint64_t calls = (side == Backend::gpu ? of.gpu : of.cpu).calls;
        if (side == Backend::gpu && !work.library.empty() && libraries.find(work.library) == libraries.end())
            return true;
        if (side == Backend::gpu && stays_on_gpu(work))
            return calls < first_synchronized || Clock::now() - synchronized > synchronize_interval;
        return calls < first_timed || calls % timed_interval == 0;
    }
    OperationStatistics& of(const Work& work) {
        OperationStatistics& of = statistics[work.operation->key];
        if (of.name.empty()) of.name = work.operation->name;
        return of;
    }
};

Session::Session(const SessionOptions& options) : state_(std::make_unique<State>()) {
    if (options.device < -1)
        throw OptionError(fmt::format("device={}: give a GPU's number, 0 or more, or -1 for any", options.device));
    state_->options = options;
    state_->options.choice = environment::backend(options.choice);
    state_->oom_safe = options.oom_safe;
    state_->threads = options.threads > 0 ? options.threads : environment::threads();
    state_->threshold_bytes = environment::offload_threshold_bytes();
}

Session::~Session() {
    if (state_) state_->close();
}
Session::Session(Session&&) noexcept = default;

Decision Session::decide(const Work& work) const {
    DecisionInputs at = state_->decision_inputs(work);
    return state_->advisor.decide(work, at);
}

Decision Session::explain(const Work& work) const {
    DecisionInputs at = state_->decision_inputs(work);
    return state_->advisor.explain(work, at);
}

Session::Running Session::begin(const Work& work) {
    State& s = *state_;
    s.relieve_pressure();
    Running running;
    Decision& decision = running.decision;
    if (s.options.choice == Backend::cpu) {  // nothing to decide
        decision.work = work, decision.choice = Backend::cpu, decision.basis = Basis::forced;
    } else {
        decision = decide(work);
    }
    double wait_s = 0;
    if (decision.choice == Backend::gpu && !s.gpu) try {
            // Waiting at most as long as the GPU would save at most doubles the total time.
            const double saves_s = decision.cpu.total() - (decision.gpu.total() - decision.gpu.wait_s);
            wait_s = decision.basis == Basis::forced  ? s.timeout_s()
                     : decision.basis == Basis::rules ? 0
                                                      : std::min(s.timeout_s(), std::max(saves_s, 0.0));
            s.open(&work, wait_s);
        } catch (const gpu::GpuError& error) {
            if (s.options.choice == Backend::gpu) throw;
            s.give_up(error.what());
            s.record_failure(work.operation->name, error);
            s.record_fallback(work.operation->name, error);
            // Ending a wait that no longer pays off is a decision, not a failure.
            const bool pays_no_more = dynamic_cast<const gpu::LeaseTimeout*>(&error) && wait_s < s.timeout_s();
            if (!pays_no_more) s.warn(work.operation->name, error);
            decision.choice = Backend::cpu, decision.basis = Basis::forced, decision.forced_by = s.why_given_up;
        }
    if (decision.choice == Backend::gpu) s.used = Clock::now();
    running.timed = s.is_timed(work, decision.choice, s.of(work));
    if (!running.timed) return running;
    if (decision.choice == Backend::gpu) s.gpu->stream.synchronize();
    running.began = Clock::now();
    return running;
}

// The work may have used the session itself: closed its GPU, or reset its statistics.
void Session::end(const Running& running, Backend side, Time ended) {
    State& s = *state_;
    const Decision& decision = running.decision;
    const Work& work = decision.work;
    OperationStatistics& of = s.of(work);
    SideStatistics& here = side == Backend::gpu ? of.gpu : of.cpu;
    ++here.calls;
    const std::uint64_t up = side == Backend::gpu ? work.bytes_to_gpu : work.bytes_to_return;
    const std::uint64_t down = side == Backend::gpu ? work.bytes_from_gpu : work.bytes_to_host;
    here.bytes_up += up, here.bytes_down += down, here.transfers += (up > 0) + (down > 0);
    if (side == Backend::gpu) {
        const Clock::time_point now = Clock::now();
        if (s.gpu) s.busy_s += std::chrono::duration<double>(now - s.used).count();
        s.used = now;
    }
    if (!running.timed) return;
    if (side == Backend::gpu && stays_on_gpu(work) && s.gpu) s.gpu->stream.synchronize(), s.synchronized = Clock::now();
    const double seconds =
        std::chrono::duration<double>((ended == Time() ? Clock::now() : ended) - running.began).count();
    ++here.timed_calls, here.seconds += seconds;
    if (side != decision.choice) return;  // the time includes a failed attempt on the other side
    if (side == Backend::gpu && !work.library.empty() && s.libraries.emplace(work.library).second) {
        s.advisor.learn_library(work, seconds - (decision.gpu.total() - decision.gpu.library_s));
        return;
    }
    s.advisor.learn(work, side, seconds);
    if (side == Backend::cpu && (decision.basis != Basis::forced || !s.advisor.has_forecast()) && !s.gpu)
        s.advisor.forgo(decision, seconds, here.calls > first_timed ? double(timed_interval) : 1);
    if (decision.basis == Basis::forced || decision.basis == Basis::rules) return;
    const double other = (side == Backend::gpu ? decision.cpu : decision.gpu).total();
    ++(seconds <= other ? of.right : of.wrong);
}

bool Session::recover(std::string_view operation, const gpu::GpuError& error) {
    State& s = *state_;
    const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
    if (memory ? !(s.oom_safe && process_oom_safe()) : s.options.choice == Backend::gpu) return false;
    s.record_failure(operation, error);
    try {
        if (memory) clean_up();
    } catch (const gpu::GpuError&) {
        // The clean-up failed, too: the GPU is unusable, so the CPU is used.
    }
    if (dynamic_cast<const gpu::DeviceLost*>(&error)) {
        s.close();
        s.give_up(error.what());
    }
    return true;
}

void Session::fall_back(std::string_view operation, const gpu::GpuError& error) {
    state_->record_fallback(operation, error);
    state_->warn(operation, error);
}

bool Session::gpu_open() const { return state_->gpu != nullptr; }

const gpu::Context& Session::context() {
    state_->used = Clock::now();
    if (!state_->gpu) state_->open(nullptr, state_->timeout_s());
    return state_->gpu->context();
}
const gpu::Stream& Session::stream() {
    context();
    return state_->gpu->stream;
}
void Session::close_gpu() noexcept { state_->close(); }

// Plans and workspaces of libraries live in the pool too, and are dropped before the check for live buffers. Nothing
// here calls a callback: the caller is the heartbeat. A fork waits for it, and no lock of the user's callbacks
// (Python's) may block it.
void Session::make_way() noexcept try {
    if (!state_->gpu || !state_->is_hardly_used()) return;
    for (const auto& [key, kept] : state_->gpu->kept) kept->drop_caches();
    if (state_->gpu->context().snapshot().empty()) close_gpu();
} catch (...) {
    // The GPU was lost: the next operation reports it.
}

void Session::synchronize() {
    if (!state_->gpu) return;
    state_->gpu->stream.synchronize();
    state_->relieve_pressure();
}

void Session::clean_up() {
    if (!state_->gpu) return;
    State::OpenGpu& gpu = *state_->gpu;
    for (const auto& [key, kept] : gpu.kept) kept->drop_caches();
    gpu.stream.synchronize();
    gpu.context().trim();
    gpu.lease.publish_held();
}

bool Session::save() const noexcept { return state_->advisor.save(); }
Backend Session::choice() const { return state_->options.choice; }
void Session::set_choice(Backend choice) { state_->options.choice = choice; }
int Session::threads() const { return state_->threads; }
bool Session::oom_safe() const { return state_->oom_safe; }
void Session::set_oom_safe(bool on) { state_->oom_safe = on; }
int Session::device() const { return state_->options.device; }
bool Session::unified() const {
    const std::optional<bool> own = state_->options.unified;
    return own ? *own : unified_by_default();
}
void Session::set_unified(bool on) { state_->options.unified = on; }
void set_process_oom_safe(bool on) { oom_safe_in_process = on; }
bool process_oom_safe() { return oom_safe_in_process; }
void set_unified_by_default(bool on) { unified_set = on; }
bool unified_by_default() {
    const int set = unified_set;
    return set < 0 ? environment::gpu_unified() : set > 0;
}

void Session::note_copy(std::uint64_t bytes_up, std::uint64_t bytes_down) {
    SideStatistics& copies = state_->copies;
    copies.bytes_up += bytes_up, copies.bytes_down += bytes_down;
    copies.transfers += (bytes_up > 0) + (bytes_down > 0);
}

Statistics Session::statistics() const {
    Statistics all;
    for (const auto& [key, of] : state_->statistics) all.operations.push_back(of);
    std::sort(all.operations.begin(), all.operations.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    all.copies = state_->copies;
    all.failures = state_->failures, all.fallbacks = state_->fallbacks;
    all.last_fallbacks.assign(state_->last_fallbacks.begin(), state_->last_fallbacks.end());
    return all;
}

void Session::reset_statistics() {
    state_->statistics.clear(), state_->last_fallbacks.clear(), state_->failures = state_->fallbacks = 0;
    state_->copies = {};
}

Session::Kept* Session::kept(const void* key) const {
    if (!state_->gpu) return nullptr;
    for (const auto& [known, kept] : state_->gpu->kept)
        if (known == key) return kept.get();
    return nullptr;
}

/// Must be called while the GPU is open.
Session::Kept& Session::keep_as(const void* key, std::unique_ptr<Kept> kept) {
    return *state_->gpu->kept.emplace_back(key, std::move(kept)).second;
}

}  // namespace glint::offload
