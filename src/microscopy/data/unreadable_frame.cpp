// Words the error of an unreadable frame, with the range of frames that remain usable.
// SPDX-License-Identifier: MIT
#include "data/unreadable_frame.hpp"

#include <fmt/format.h>

namespace glint {
namespace {

std::string message(const std::string& file, std::int64_t frame, const std::string& reason, std::int64_t first) {
    const std::string text = fmt::format("{}: frame {} cannot be read ({})", file, frame, reason);
    const std::int64_t before = first + frame;
    if (before == 0) return text + "; it is the movie's first: copy the file again";
    if (first == 0) return text + fmt::format("; the frames before it are usable: `frames=0:{}`", before);
    return text + fmt::format("; the movie's frames before it are usable: `frames=0:{}`", before);
}

}  // namespace

UnreadableFrame::UnreadableFrame(std::string file, std::int64_t frame, std::string reason, std::int64_t first)
    : InputError(message(file, frame, reason, first)),
      file_(std::move(file)),
      reason_(std::move(reason)),
      frame_(frame),
      first_(first) {}

}  // namespace glint
