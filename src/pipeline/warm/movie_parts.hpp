// What a client and its worker tell each other of a movie: its setup, what was found in a block, and groups.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "fit/joint/windows.hpp"
#include "fit/worker/messages.hpp"
#include "fit/worker/packed.hpp"
#include "pipeline/found_spots.hpp"

namespace glint::worker {

MovieSetup setup_of(const Job& job, PixelType type);
/// The job of that setup, for what a GPU does of it; `memory`: where pack_maps() has written the camera's. Nothing where anything is out of
/// range, or a fit or the detection would refuse it.
std::optional<Job> job_of(const MovieSetup& setup, std::span<const std::byte> memory);

/// A block's spots, with the fits, and the noise and bad pixels of its frames. False: they need more room.
bool pack(const FoundSpots& found, const BlockResult& result, std::span<std::byte> to);
/// Replaces the spots; adds to `result`. False: these are none of `frames` frames of the job.
bool unpack(std::span<const std::byte> from, const Job& job, int frames, FoundSpots& found, BlockResult& result);

/// Groups with their windows, the light of others and the molecules in them. False: they need more room.
bool pack(std::span<const JointCut> groups, std::span<std::byte> to);
/// Groups of a job that another process has sent.
class Groups {
  public:
    explicit Groups(const Job& job);
    Groups(const Groups&) = delete;  // its groups borrow the windows
    Groups& operator=(const Groups&) = delete;
    /// Adds those that pack() has written. False: they are no groups of this job.
    bool add(std::span<const std::byte> from, std::uint32_t count);
    std::span<const JointCut> all() const { return all_; }

  private:
    struct Group {
        std::vector<std::size_t> windows;
        std::vector<JointLight> light, earlier;
        JointFit fit;
    };
    bool take_windows(Unpacker& from, Group& group);

    const Job& job_;
    Rois pixels_, searched_;
    std::deque<Group> groups_;
    std::vector<JointCut> all_;
};
/// Their fits alone, and back.
bool pack_fits(std::span<const JointCut> groups, std::span<std::byte> to);
bool unpack_fits(std::span<const std::byte> from, std::span<const JointCut> groups);

}  // namespace glint::worker
