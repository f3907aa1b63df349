// Cuts the frames of a movie.
// SPDX-License-Identifier: MIT
#include "glint/movie_region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::size_t whole_bytes_at_once = std::size_t(16) << 20;

MovieInfo info_of_region(MovieInfo info, const PixelRegion& region) {
    info.width = region.width, info.height = region.height;
    info.planes += fmt::format("{}region {},{},{},{}", info.planes.empty() ? "" : ", ", region.x, region.y,
                               region.width, region.height);
    return info;
}

/// Copies the region of each of `count` whole frames.
void cut(const MovieInfo& whole, const PixelRegion& region, const std::byte* frames, int count, std::byte* out) {
    const auto pixel = std::size_t(num_bytes(whole.type));
    const std::size_t row = std::size_t(whole.width) * pixel, kept = std::size_t(region.width) * pixel;
    for (int k = 0; k < count; ++k)
        for (int y = 0; y < region.height; ++y, out += kept)
            std::memcpy(out,
                        frames + std::size_t(k) * whole.frame_bytes() + std::size_t(region.y + y) * row +
                            std::size_t(region.x) * pixel,
                        kept);
}

/// Reads whole frames, a few at a time, and keeps the region of each.
void read_region(Movie& movie, const PixelRegion& region, std::int64_t first, int count, std::byte* out) {
    const MovieInfo& whole = movie.info();
    const std::size_t frame = whole.frame_bytes(), kept = std::size_t(region.width) * std::size_t(region.height) *
                                                          std::size_t(num_bytes(whole.type));
    const int at_once = int(std::clamp<std::size_t>(whole_bytes_at_once / frame, 1, std::size_t(std::max(count, 1))));
    const auto frames = std::make_unique_for_overwrite<std::byte[]>(std::size_t(at_once) * frame);
    for (int done = 0, some = 0; done < count; done += some) {
        some = std::min(at_once, count - done);
        movie.read_to(first + done, some, frames.get());
        cut(whole, region, frames.get(), some, out + std::size_t(done) * kept);
    }
}

/// `Base`: Movie, or GrowingMovie.
template <class Base>
class RegionMovie : public Base {
  public:
    RegionMovie(std::unique_ptr<Base> movie, const PixelRegion& region) : movie_(std::move(movie)), region_(region) {
        update();
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        FrameBlock whole;
        movie_->read(first, count, whole);  // not read_to(), which would remove frames from a pipe
        block.first_frame = first, block.count = count;
        block.width = info_.width, block.height = info_.height, block.type = info_.type;
        block.bytes.resize(std::size_t(count) * block.frame_bytes());
        cut(movie_->info(), region_, whole.bytes.data(), count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        read_region(*movie_, region_, first, count, out);
    }

  protected:
    void update() { info_ = info_of_region(movie_->info(), region_); }
    std::unique_ptr<Base> movie_;

  private:
    PixelRegion region_;
    MovieInfo info_;
};

class GrowingRegion : public RegionMovie<GrowingMovie> {
  public:
    using RegionMovie::RegionMovie;
    std::int64_t frames_beyond(std::int64_t have, double wait_s) override {
        return movie_->frames_beyond(have, wait_s);
    }
    std::int64_t frames_found() override { return movie_->frames_found(); }
    bool ended() const override { return movie_->ended(); }
    std::int64_t end() override {
        const std::int64_t frames = movie_->end();
        update();
        return frames;
    }
};

}  // namespace

std::unique_ptr<Movie> crop_movie(std::unique_ptr<Movie> movie, const PixelRegion& region) {
    const MovieInfo& info = movie->info();
    if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 || region.x > info.width - region.width ||
        region.y > info.height - region.height)
        throw OptionError(
            fmt::format("{}: the region {},{},{},{} (x, y, width, height) is not inside its frames of {}x{} px",
                        info.name, region.x, region.y, region.width, region.height, info.width, info.height));
    if (auto* growing = dynamic_cast<GrowingMovie*>(movie.get())) {
        std::unique_ptr<GrowingMovie> owned(growing);
        movie.release();
        return std::make_unique<GrowingRegion>(std::move(owned), region);
    }
    return std::make_unique<RegionMovie<Movie>>(std::move(movie), region);
}

}  // namespace glint
