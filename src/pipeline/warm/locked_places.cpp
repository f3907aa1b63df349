// Counts uses, and locks at the second one, beside those who use other places.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/locked_places.hpp"

#include "gpu/pinned.hpp"

namespace glint::worker {
namespace {

constexpr std::size_t most_places = 1024;

}  // namespace

LockedPlaces::~LockedPlaces() {
    for (const auto& [at, place] : places_)
        if (place.locked)
            gpu::detail::unlock_pages(context_.state(), movie_->memory.data() + at, std::size_t(place.bytes));
}

void LockedPlaces::used(std::uint64_t at, std::uint64_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        const auto known = places_.find(at);
        if (known == places_.end()) {
            if (places_.size() < most_places) places_.emplace(at, Place{bytes});
            return;
        }
        if (++known->second.uses != 2) return;
        known->second.bytes = bytes;
    }
    // What the driver does not lock, parts of two places among it, is copied like other memory.
    if (!gpu::detail::lock_pages(context_.state(), movie_->memory.data() + at, std::size_t(bytes))) return;
    const std::lock_guard lock(mutex_);
    places_.at(at).locked = true;
}

}  // namespace glint::worker
