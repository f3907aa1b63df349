// Page-locks the places of shared memory that a client uses again and again: for one use it would take longer than it saves.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "glint/gpu/context.hpp"
#include "pipeline/warm/shared_movie.hpp"

namespace glint::worker {

/// Of one movie. Thread-safe.
class LockedPlaces {
  public:
    LockedPlaces(const gpu::Context& context, std::shared_ptr<const SharedMovie> movie)
        : context_(context), movie_(std::move(movie)) {}
    ~LockedPlaces();  ///< waits for the device
    LockedPlaces(const LockedPlaces&) = delete;
    LockedPlaces& operator=(const LockedPlaces&) = delete;
    /// To be called before each use. May take milliseconds.
    void used(std::uint64_t at, std::uint64_t bytes);

  private:
    struct Place {
        std::uint64_t bytes;
        int uses = 1;
        bool locked = false;
    };
    const gpu::Context context_;
    const std::shared_ptr<const SharedMovie> movie_;
    std::mutex mutex_;                       // guards what follows
    std::map<std::uint64_t, Place> places_;  // by offset
};

}  // namespace glint::worker
