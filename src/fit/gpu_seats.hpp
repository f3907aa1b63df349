// The GPUs that a Fitter holds, from stack to stack.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "glint/gpu_fit.hpp"

namespace glint {

/// One of them, with its lease, its context and its kernels. Whoever has it uses it alone.
struct GpuSeat {
    GpuSeat(gpu::Lease lease, std::int64_t batch_size);
    bool limit_was_lowered() const;

    std::string name, uuid;
    GpuFitter fitter;
    std::uint64_t memory_limit;  ///< as it began
};

/// Where they are while nobody uses them, and what is known of those that are not there. Thread-safe.
class GpuSeats {
  public:
    /// One that nobody uses, `near` where that is among them; null: there is none.
    std::unique_ptr<GpuSeat> take_idle(const std::string& near = {});
    void put_back(std::unique_ptr<GpuSeat> seat);
    /// Waits so long at most for one to be put back or given up.
    void wait(double seconds);

    /// To be held while a lease is asked for: two who ask at once could get the same GPU.
    std::unique_lock<std::mutex> turn_to_ask() { return std::unique_lock(asking_); }
    bool may_ask(int most) const;  ///< there are less than `most`, and a further one was not refused just now
    void refused();                ///< a further one: not to be asked for in the next half second
    void leased(const std::string& uuid);
    void give_up(const std::string& uuid);  ///< after its seat was destroyed
    int held() const;                       ///< in use or not, or being opened

    void avoid(const std::string& uuid);
    /// Those to avoid, and those held already; with `near`, all others than that too.
    std::vector<std::string> not_wanted(const std::string& near = {}) const;
    bool avoids_any() const;

    std::mutex telling;  ///< for the callers' functions, which are called by one thread at a time

    /// How many GPUs this process can use.
    int there();

    void set_why_none(std::exception_ptr why);
    std::exception_ptr why_none() const;  ///< set: there is none to be had any more

  private:
    mutable std::mutex mutex_;
    std::mutex asking_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<GpuSeat>> idle_;
    std::vector<std::string> held_, avoid_;
    std::chrono::steady_clock::time_point ask_again_{};
    std::exception_ptr why_none_;
    std::once_flag counted_;
    int there_ = 0;
};

}  // namespace glint
