// Movies in memory, and parsing of frame ranges.
// SPDX-License-Identifier: MIT
#include "glint/movie.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "data/frame_block.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

class MemoryMovie : public Movie {
  public:
    MemoryMovie(FrameBlock block, std::string name) : frames_(std::move(block)) {
        info_.name = std::move(name);
        info_.width = frames_.width;
        info_.height = frames_.height;
        info_.frames = frames_.count;
        info_.type = frames_.type;
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        check_frames(info_, first, count);
        std::memcpy(out, frames_.frame(int(first)), std::size_t(count) * frames_.frame_bytes());
    }

  private:
    FrameBlock frames_;
    MovieInfo info_;
};

std::string message(const std::string& file, std::int64_t frame, const std::string& reason, std::int64_t first) {
    const std::string text = fmt::format("{}: frame {} cannot be read ({})", file, frame, reason);
    const std::int64_t before = first + frame;
    if (before == 0) return text + "; it is the movie's first: copy the file again";
    if (first == 0) return text + fmt::format("; the frames before it are usable: `frames=0:{}`", before);
    return text + fmt::format("; the movie's frames before it are usable: `frames=0:{}`", before);
}

}  // namespace

void Movie::read_to(std::int64_t first, int count, std::byte* out) {
    FrameBlock block;
    read(first, count, block);
    std::memcpy(out, block.bytes.data(), std::size_t(count) * block.frame_bytes());
}

std::optional<FramesInFile> Movie::in_file(std::int64_t, int) { return {}; }

void check_frames(const MovieInfo& info, std::int64_t first, int count) {
    if (first < 0 || count < 0 || first + count > info.frames)
        throw OptionError(fmt::format("{}: frames {}:{} asked of {}", info.name, first, first + count, info.frames));
}

void shape_like(const MovieInfo& info, std::int64_t first, int count, FrameBlock& block) {
    check_frames(info, first, count);
    block.first_frame = first;
    block.count = count;
    block.width = info.width;
    block.height = info.height;
    block.type = info.type;
    block.bytes.resize(block.frame_bytes() * count);
}

std::unique_ptr<Movie> memory_movie(FrameBlock block, std::string name) {
    return std::make_unique<MemoryMovie>(std::move(block), std::move(name));
}

FrameRange parse_frame_range(const std::string& text, std::int64_t frames) {
    FrameRange range{0, frames};
    const auto refuse = [&](const char* why) {
        throw OptionError(
            fmt::format("`frames={}`: {}; the movie has {} frames, give BEGIN:END with 0 <= BEGIN < END "
                        "<= {}, as in 0:1000 or 500:",
                        text, why, frames, frames));
    };
    if (text.empty()) return range;
    const auto colon = text.find(':');
    if (colon == std::string::npos) refuse("no colon");
    const auto parse = [&](const char* begin, const char* end, std::int64_t& value) {
        if (begin == end) return;
        const auto [rest, error] = std::from_chars(begin, end, value);
        if (error != std::errc() || rest != end) refuse("not a number");
    };
    parse(text.data(), text.data() + colon, range.begin);
    parse(text.data() + colon + 1, text.data() + text.size(), range.end);
    if (range.begin < 0 || range.end > frames) refuse("outside the movie");
    if (range.begin >= range.end) refuse("an empty range");
    return range;
}

UnreadableFrame::UnreadableFrame(std::string file, std::int64_t frame, std::string reason, std::int64_t first)
    : InputError(message(file, frame, reason, first)),
      file_(std::move(file)),
      reason_(std::move(reason)),
      frame_(frame),
      first_(first) {}

}  // namespace glint
