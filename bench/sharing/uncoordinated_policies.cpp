// Policies without a broker: random GPUs immediately, and polling, as documented for GaussMLE.jl, without reservations.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <functional>

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

constexpr double polls_every_s = 0.5, room_beside_others = 1.5;

class Polling final : public SharingPolicy {
  public:
    Polling(Stage& stage, int max_busy_percent) : stage_(stage), max_busy_percent_(max_busy_percent) {}

    void arrived(int job) override { poll(job); }
    void lost(int job) override { poll(job); }
    void woken(int job) override { poll(job); }
    void computed(int) override { rouse(); }
    void released(int) override { rouse(); }
    void foreign_processes_changed() override { rouse(); }

  private:
    /// Returns the largest request that would be admitted.
    double room(const SharedGpu& gpu) const {
        if (gpu.contexts == 0) return double(gpu.free_bytes);
        if ((gpu.is_busy() ? 100 : 0) > max_busy_percent_) return 0;
        return double(gpu.free_bytes) / room_beside_others;
    }

    void poll(int job) {
        const SimulatedJob& wants = stage_.job(job);
        GpuSet on = 0;
        int count = 0;
        for (std::size_t g = 0; g < stage_.gpus().size() && count < wants.gpus; ++g)
            if (room(stage_.gpus()[g]) >= double(wants.bytes)) on |= GpuSet(1) << g, ++count;
        if (count == wants.gpus) return stage_.start(job, on);
        asleep_.push_back({job, stage_.now_s() + interval_s()});
    }

    /// An optimisation: does not simulate polls that cannot succeed. A job sleeps until the state of a GPU changes.
    void rouse() {
        std::vector<double> rooms;
        for (const SharedGpu& gpu : stage_.gpus()) rooms.push_back(room(gpu));
        std::sort(rooms.begin(), rooms.end(), std::greater<>());
        std::erase_if(asleep_, [&](const Sleeper& s) {
            const SimulatedJob& wants = stage_.job(s.job);
            if (rooms[std::size_t(wants.gpus - 1)] < double(wants.bytes)) return false;
            const double now_s = stage_.now_s();
            stage_.wake_at(s.polls_at_s > now_s ? s.polls_at_s : now_s + stage_.random() * interval_s(), s.job);
            return true;
        });
    }

    double interval_s() { return polls_every_s * (0.75 + 0.5 * stage_.random()); }

    struct Sleeper {
        int job;
        double polls_at_s;
    };
    Stage& stage_;
    int max_busy_percent_;
    std::vector<Sleeper> asleep_;
};

}  // namespace

std::unique_ptr<SharingPolicy> naive_policy(Stage& stage) { return std::make_unique<Naive>(stage); }

std::unique_ptr<SharingPolicy> polling_policy(Stage& stage, int max_busy_percent) {
    return std::make_unique<Polling>(stage, max_busy_percent);
}

}  // namespace glint::sharing
