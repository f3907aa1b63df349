// Movies in memory, joined movies, and parsing of frame ranges.
// SPDX-License-Identifier: MIT
#include "glint/movie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "data/frame_block.hpp"
#include "data/joined_movie.hpp"
#include "data/unreadable_frame.hpp"
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

class JoinedMovie : public Movie {
  public:
    JoinedMovie(std::vector<std::unique_ptr<Movie>> parts, std::vector<std::string> warnings)
        : parts_(std::move(parts)) {
        info_ = parts_.front()->info();
        info_.frames = 0;
        info_.warnings = std::move(warnings);
        info_.files.clear();
        for (const auto& part : parts_) {
            const MovieInfo& other = part->info();
            if (other.width != info_.width || other.height != info_.height || other.type != info_.type)
                throw InputError(fmt::format(
                    "{} ({}x{}, {}-byte pixels) does not continue {} ({}x{}, {}-byte pixels): localize them apart",
                    other.name, other.width, other.height, bytes_of(other.type), info_.name, info_.width, info_.height,
                    bytes_of(info_.type)));
            starts_.push_back(info_.frames);
            info_.frames += other.frames;
            info_.warnings.insert(info_.warnings.end(), other.warnings.begin(), other.warnings.end());
            info_.files.insert(info_.files.end(), other.files.begin(), other.files.end());
        }
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        check_frames(info_, first, count);
        const std::size_t frame_bytes = std::size_t(info_.width) * info_.height * bytes_of(info_.type);
        auto part = std::size_t(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin()) - 1;
        for (int done = 0; done < count; ++part) {
            const std::int64_t local = first + done - starts_[part];
            const int take = int(std::min<std::int64_t>(count - done, parts_[part]->info().frames - local));
            if (take <= 0) continue;
            read_part(part, local, take, out + std::size_t(done) * frame_bytes);
            done += take;
        }
    }

  private:
    void read_part(std::size_t part, std::int64_t local, int count, std::byte* out) {
        try {
            parts_[part]->read_to(local, count, out);
        } catch (const UnreadableFrame& error) {
            throw error.in_movie(starts_[part]);
        }
    }

    std::vector<std::unique_ptr<Movie>> parts_;
    std::vector<std::int64_t> starts_;
    MovieInfo info_;
};

}  // namespace

void Movie::read_to(std::int64_t first, int count, std::byte* out) {
    FrameBlock block;
    read(first, count, block);
    std::memcpy(out, block.bytes.data(), std::size_t(count) * block.frame_bytes());
}

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

std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies) {
    return concatenate(std::move(movies), {});
}

std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies, std::vector<std::string> warnings) {
    if (movies.empty()) throw InputError("no movie was given");
    if (movies.size() == 1 && warnings.empty()) return std::move(movies.front());
    return std::make_unique<JoinedMovie>(std::move(movies), std::move(warnings));
}

FrameRange parse_frame_range(const std::string& text, std::int64_t frames) {
    FrameRange range{0, frames};
    const auto refuse = [&](const char* why) {
        throw OptionError(
            fmt::format("--frames {}: {}; the movie has {} frames, give BEGIN:END with 0 <= BEGIN < END "
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

}  // namespace glint
