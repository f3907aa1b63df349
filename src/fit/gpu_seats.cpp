// The GPUs that a Fitter holds.
// SPDX-License-Identifier: MIT
#include "fit/gpu_seats.hpp"

#include <algorithm>
#include <utility>

#include "glint/gpu/device.hpp"

namespace glint {
namespace {

constexpr std::chrono::milliseconds ask_again_after{500};

}  // namespace

GpuSeat::GpuSeat(gpu::Lease lease, std::int64_t batch_size)
    : name(lease.devices().front().name),
      uuid(lease.devices().front().uuid),
      fitter(std::move(lease), batch_size),
      memory_limit(fitter.context().statistics().limit_bytes) {}

bool GpuSeat::limit_was_lowered() const { return fitter.context().statistics().limit_bytes < memory_limit; }

std::unique_ptr<GpuSeat> GpuSeats::take_idle(const std::string& near) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto chosen = std::find_if(idle_.begin(), idle_.end(), [&](const auto& seat) { return seat->uuid == near; });
    if (chosen == idle_.end()) chosen = idle_.begin();  // in turn, so that all are used alike
    std::unique_ptr<GpuSeat> seat = std::move(*chosen);
    idle_.erase(chosen);
    return seat;
}

void GpuSeats::put_back(std::unique_ptr<GpuSeat> seat) {
    if (!seat) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(seat));
    changed_.notify_one();
}

void GpuSeats::wait(double seconds) {
    std::unique_lock lock(mutex_);
    if (idle_.empty()) changed_.wait_for(lock, std::chrono::duration<double>(seconds));
}

bool GpuSeats::may_ask(int most) const {
    const std::lock_guard lock(mutex_);
    return held_.empty() || (int(held_.size()) < most && std::chrono::steady_clock::now() >= ask_again_);
}

void GpuSeats::refused() {
    const std::lock_guard lock(mutex_);
    ask_again_ = std::chrono::steady_clock::now() + ask_again_after;
}

void GpuSeats::leased(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    held_.push_back(uuid);
}

void GpuSeats::give_up(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(held_.begin(), held_.end(), uuid);
    if (found != held_.end()) held_.erase(found);
    ask_again_ = {};
    changed_.notify_all();
}

int GpuSeats::held() const {
    const std::lock_guard lock(mutex_);
    return int(held_.size());
}

void GpuSeats::avoid(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    avoid_.push_back(uuid);
}

std::vector<std::string> GpuSeats::not_wanted(const std::string& near) const {
    std::vector<std::string> all;
    if (!near.empty())
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.uuid != near) all.push_back(device.uuid);
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), avoid_.begin(), avoid_.end());
    all.insert(all.end(), held_.begin(), held_.end());
    return all;
}

bool GpuSeats::avoids_any() const {
    const std::lock_guard lock(mutex_);
    return !avoid_.empty();
}

int GpuSeats::there() {
    std::call_once(counted_, [&] {
        for (const gpu::Device& device : gpu::inventory().devices) there_ += device.ordinal >= 0;
    });
    return there_;
}

void GpuSeats::set_why_none(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    why_none_ = std::move(why);
}

std::exception_ptr GpuSeats::why_none() const {
    const std::lock_guard lock(mutex_);
    return why_none_;
}

}  // namespace glint
