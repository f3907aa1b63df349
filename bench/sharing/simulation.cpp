// The event loop: a job arrives, the policy starts it, its contexts are created, it computes, and it releases
// everything.
// SPDX-License-Identifier: MIT
#include "bench/sharing/simulation.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <queue>
#include <stdexcept>
#include <utility>

#include "bench/sharing/context_costs.hpp"
#include "bench/sharing/random_numbers.hpp"
#include "bench/sharing/shared_gpus.hpp"
#include "bench/sharing/sharing_policy.hpp"
#include "glint/error.hpp"

namespace glint::sharing {
namespace {

struct Event {
    enum Kind { arrival, foreign_arrival, foreign_departure, released, wake };
    double at_s;
    std::uint64_t order;  // breaks ties: events at the same time occur in the order of scheduling
    Kind kind;
    int subject;
    bool operator>(const Event& other) const { return at_s != other.at_s ? at_s > other.at_s : order > other.order; }
};

class Simulation final : public Stage {
  public:
    Simulation(const Workload& workload, const PolicyMaker& policy_of, std::uint64_t seed, const Progress& progress)
        : workload_(workload),
          gpus_(workload.gpus, workload.gpu_bytes),
          random_(seed),
          progress_(progress),
          states_(workload.jobs.size()),
          turns_(std::size_t(workload.gpus)),
          foreign_bytes_(workload.foreign_processes.size()) {
        outcome_.runs.resize(workload.jobs.size());
        for (std::size_t k = 0; k < states_.size(); ++k) states_[k].left_s = workload.jobs[k].compute_s;
        for (const SimulatedJob& job : workload.jobs)
            if (job.gpus < 1 || job.gpus > workload.gpus || job.bytes + context_bytes > workload.gpu_bytes)
                throw OptionError(workload.name + ": a job needs " + std::to_string(job.gpus) + " x " +
                                  std::to_string(job.bytes) + " bytes and contexts, more than the server has");
        policy_ = policy_of(*this);
    }

    Outcome run() {
        for (std::size_t k = 0; k < workload_.jobs.size(); ++k)
            plan(workload_.jobs[k].arrives_s, Event::arrival, int(k));
        for (std::size_t k = 0; k < workload_.foreign_processes.size(); ++k)
            plan(workload_.foreign_processes[k].comes_s, Event::foreign_arrival, int(k));
        while (unfinished_ > 0) {
            const auto ending = gpus_.next();
            if (!ending && events_.empty()) throw std::logic_error(workload_.name + ": jobs were forgotten");
            if (ending && (events_.empty() || ending->at_s <= events_.top().at_s)) {
                now_s_ = std::max(now_s_, ending->at_s);
                ended(ending->job);
            } else {
                const Event event = events_.top();
                events_.pop();
                now_s_ = event.at_s;
                happens(event);
            }
        }
        outcome_.lasted_s = now_s_;
        outcome_.idle_s = gpus_.idle_s(now_s_);
        return std::move(outcome_);
    }

    // ---- Stage: the interface for the policy

    double now_s() const override { return now_s_; }
    const SimulatedJob& job(int job) const override { return workload_.jobs[std::size_t(job)]; }
    const std::vector<SharedGpu>& gpus() const override { return gpus_.gpus(); }
    double random() override { return random_.uniform(); }
    void wake_at(double at_s, int token) override { plan(at_s, Event::wake, token); }

    std::uint64_t held_bytes(int j, int gpu) const override {
        const State& state = states_[std::size_t(j)];
        if (!(state.contexts >> gpu & 1)) return 0;
        return context_bytes + (state.has_memory ? job(j).bytes : 0);
    }

    void start(int j, GpuSet on) override {
        states_[std::size_t(j)].on = on;
        create_next(j);
    }

    std::optional<double> computes_since_s(int j) const override {
        const State& state = states_[std::size_t(j)];
        return state.has_memory && !state.ends ? std::optional(state.since_s) : std::nullopt;
    }

    void interrupt(int j) override {
        State& state = states_[std::size_t(j)];
        state.left_s = gpus_.end(now_s_, j), state.ends = true;
        ++outcome_.interruptions;
        plan(now_s_ + context_end_s, Event::released, j);
    }

    void fail(int j) override {
        outcome_.runs[std::size_t(j)].failed = true;
        finish_one();
    }

  private:
    struct State {
        GpuSet on = 0, contexts = 0;
        bool creating = false, has_memory = false, ends = false, computed = false;
        double since_s = 0;  // time at which it had all of its memory
        double left_s = 0;   // computing time that is left
    };

    void plan(double at_s, Event::Kind kind, int subject) { events_.push({at_s, order_++, kind, subject}); }

    void happens(const Event& event) {
        switch (event.kind) {
            case Event::arrival: return policy_->arrived(event.subject);
            case Event::released: return let_go(event.subject);
            case Event::wake: return policy_->woken(event.subject);
            case Event::foreign_arrival: return comes(event.subject);
            case Event::foreign_departure: return goes(event.subject);
        }
    }

    // ---- Contexts, memory, computing

    void create_next(int j) {
        State& state = states_[std::size_t(j)];
        if (state.contexts == state.on) return allocate(j);
        const int gpu = std::countr_zero(state.on & ~state.contexts);
        std::deque<int>& turn = turns_[std::size_t(gpu)];
        turn.push_back(j);
        if (turn.size() == 1 || !policy_->creates_contexts_one_at_a_time()) create(j, gpu);
    }

    void create(int j, int gpu) {
        states_[std::size_t(j)].creating = true;
        gpus_.begin_creation(now_s_, j, gpu);
    }

    void ended(int j) {
        State& state = states_[std::size_t(j)];
        gpus_.end(now_s_, j);
        if (std::exchange(state.creating, false)) return created(j);
        state.computed = state.ends = true;
        outcome_.runs[std::size_t(j)].finishes_s = now_s_;
        plan(now_s_ + context_end_s, Event::released, j);
        finish_one();
        policy_->computed(j);
    }

    void created(int j) {
        State& state = states_[std::size_t(j)];
        const int gpu = std::countr_zero(state.on & ~state.contexts);
        std::deque<int>& turn = turns_[std::size_t(gpu)];
        turn.erase(std::find(turn.begin(), turn.end(), j));
        if (!turn.empty() && policy_->creates_contexts_one_at_a_time()) create(turn.front(), gpu);
        if (!gpus_.take_context(now_s_, gpu)) return refused(j);
        state.contexts |= GpuSet(1) << gpu;
        create_next(j);
    }

    void allocate(int j) {
        State& state = states_[std::size_t(j)];
        GpuSet taken = 0;
        for (int g = 0; g < workload_.gpus; ++g)
            if (state.on >> g & 1 && gpus_.take(g, job(j).bytes)) taken |= GpuSet(1) << g;
        if (taken != state.on) {
            for (int g = 0; g < workload_.gpus; ++g)
                if (taken >> g & 1) gpus_.give(g, job(j).bytes);
            return refused(j);
        }
        state.has_memory = true, state.since_s = now_s_;
        JobRun& run = outcome_.runs[std::size_t(j)];
        if (state.left_s == job(j).compute_s) run.starts_s = now_s_;
        gpus_.begin_computing(now_s_, j, state.on, state.left_s);
    }

    void refused(int j) {
        ++outcome_.refusals;
        plan(now_s_ + context_end_s, Event::released, j);
    }

    void let_go(int j) {
        State& state = states_[std::size_t(j)];
        for (int g = 0; g < workload_.gpus; ++g) {
            if (!(state.contexts >> g & 1)) continue;
            if (state.has_memory) gpus_.give(g, job(j).bytes);
            gpus_.give_context(now_s_, g);
        }
        const bool computed = state.computed;
        state = {.left_s = state.left_s};
        computed ? policy_->released(j) : policy_->lost(j);
    }

    // ---- Foreign processes

    void comes(int k) {
        const ForeignProcess& process = workload_.foreign_processes[std::size_t(k)];
        if (!gpus_.take_context(now_s_, process.gpu)) return;  // out of memory: it ends immediately
        const std::uint64_t wanted = process.bytes - std::min(process.bytes, context_bytes);
        const std::uint64_t more = std::min(wanted, gpus()[std::size_t(process.gpu)].free_bytes);
        gpus_.take(process.gpu, more);
        foreign_bytes_[std::size_t(k)] = more;
        if (process.computes) gpus_.foreign_process_computes(now_s_, process.gpu, 1);
        plan(process.goes_s, Event::foreign_departure, k);
        policy_->foreign_processes_changed();
    }

    void goes(int k) {
        const ForeignProcess& process = workload_.foreign_processes[std::size_t(k)];
        gpus_.give(process.gpu, foreign_bytes_[std::size_t(k)]);
        gpus_.give_context(now_s_, process.gpu);
        if (process.computes) gpus_.foreign_process_computes(now_s_, process.gpu, -1);
        policy_->foreign_processes_changed();
    }

    // ---- Result

    void finish_one() {
        --unfinished_;
        const auto total = std::int64_t(workload_.jobs.size());
        if (progress_) progress_(total - unfinished_, total, -1);
    }

    const Workload& workload_;
    SharedGpus gpus_;
    RandomNumbers random_;
    const Progress& progress_;
    std::unique_ptr<SharingPolicy> policy_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    std::vector<State> states_;
    std::vector<std::deque<int>> turns_;  // by GPU: jobs that create a context, then jobs that wait to create one
    std::vector<std::uint64_t> foreign_bytes_;
    std::int64_t unfinished_ = std::int64_t(workload_.jobs.size());
    double now_s_ = 0;
    Outcome outcome_;
};

}  // namespace

std::string_view to_name(PolicyKind policy) {
    switch (policy) {
        case PolicyKind::naive: return "naive";
        case PolicyKind::first_fit: return "first-fit";
        case PolicyKind::polling: return "polling";
        case PolicyKind::leases: return "leases";
    }
    return "";
}

PolicyKind parse_policy(std::string_view name) {
    for (const PolicyKind policy : all_policies)
        if (name == to_name(policy)) return policy;
    throw OptionError("there is no policy " + std::string(name) + ": there are naive, first-fit, polling and leases");
}

Outcome simulate(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Progress& progress,
                 double quantum_s) {
    const auto policy_of = [&](Stage& stage) -> std::unique_ptr<SharingPolicy> {
        switch (policy) {
            case PolicyKind::naive: return naive_policy(stage);
            case PolicyKind::first_fit: return polling_policy(stage, 100);
            case PolicyKind::polling: return polling_policy(stage, 90);
            case PolicyKind::leases: return lease_policy(stage, quantum_s);
        }
        return nullptr;
    };
    return simulate(workload, policy_of, seed, progress);
}

Outcome simulate(const Workload& workload, const PolicyMaker& policy_of, std::uint64_t seed, const Progress& progress) {
    return Simulation(workload, policy_of, seed, progress).run();
}

}  // namespace glint::sharing
