// Chooses planes along the dimensions of a file.
// SPDX-License-Identifier: MIT
#include "io/planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "data/frame_block.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

const char* word(Dimension dimension) {
    switch (dimension) {
        case Dimension::z: return "z";
        case Dimension::channel: return "channel";
        case Dimension::position: return "position";
        default: return "time";
    }
}

const char* plural(Dimension dimension) {
    switch (dimension) {
        case Dimension::z: return "z planes";
        case Dimension::channel: return "channels";
        case Dimension::position: return "positions";
        default: return "times";
    }
}

std::string named(const Axis& axis, std::int64_t k) {
    const bool has_name = std::size_t(k) < axis.names.size() && !axis.names[std::size_t(k)].empty();
    return has_name ? fmt::format("{} ({})", k, axis.names[std::size_t(k)]) : fmt::format("{}", k);
}

/// "--channel 0 (DAPI) or 1 (GFP)", "--z 0 to 9".
std::string offered(const Axis& axis) {
    constexpr std::int64_t most = 8;
    std::string text = fmt::format("--{} ", word(axis.dimension));
    if (axis.size > most || axis.names.empty())
        return text + (axis.size == 1 ? "0" : fmt::format("0 to {}", axis.size - 1));
    for (std::int64_t k = 0; k < axis.size; ++k)
        text += (k == 0 ? "" : k + 1 == axis.size ? " or " : ", ") + named(axis, k);
    return text;
}

std::optional<std::int64_t> as_number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// What was asked for along an axis, as text; nothing where it was not.
std::optional<std::string> asked(Dimension dimension, const MovieChoice& choice) {
    if (dimension == Dimension::channel) return choice.channel;
    const auto& number = dimension == Dimension::z ? choice.z : choice.position;
    if (dimension == Dimension::time || !number) return std::nullopt;
    return fmt::format("{}", *number);
}

std::int64_t chosen(const Axis& axis, const std::string& text, const std::string& file) {
    for (std::size_t k = 0; k < axis.names.size(); ++k)
        if (axis.dimension == Dimension::channel && axis.names[k] == text) return std::int64_t(k);
    const auto number = as_number(text);
    if (!number || *number < 0 || *number >= axis.size)
        throw OptionError(
            fmt::format("{}: --{} {} is not there: give {}", file, word(axis.dimension), text, offered(axis)));
    return *number;
}

[[noreturn]] void refuse_to_mix(const std::vector<const Axis*>& open, const std::string& file) {
    std::string there, give;
    for (const Axis* axis : open) {
        there += fmt::format("{}{} {}", there.empty() ? "" : " and ", axis->size, plural(axis->dimension));
        give += (give.empty() ? "" : " and ") + offered(*axis);
    }
    throw OptionError(fmt::format("{}: has {}, and a movie is one of them: choose by {}", file, there, give));
}

class PickedFrames : public Movie {
  public:
    PickedFrames(std::unique_ptr<Movie> movie, const Planes& planes) : movie_(std::move(movie)), planes_(planes) {
        info_ = movie_->info();
        const std::int64_t left = info_.frames - planes.first;  // of a file that breaks off
        info_.frames = std::min(planes.frames, left <= 0 ? 0 : (left - 1) / planes.step + 1);
        info_.planes = planes.described;
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        check_frames(info_, first, count);
        const std::size_t frame_bytes = std::size_t(info_.width) * info_.height * bytes_of(info_.type);
        if (planes_.step == 1) return movie_->read_to(planes_.first + first, count, out);
        for (int k = 0; k < count; ++k)
            movie_->read_to(planes_.first + (first + k) * planes_.step, 1, out + std::size_t(k) * frame_bytes);
    }

  private:
    std::unique_ptr<Movie> movie_;
    Planes planes_;
    MovieInfo info_;
};

/// The axis along which the frames are: time, or z where there is a single time.
Dimension frame_dimension(const std::vector<Axis>& axes, const MovieChoice& choice) {
    for (const Axis& axis : axes)
        if (axis.dimension == Dimension::time && axis.size > 1) return Dimension::time;
    return choice.z ? Dimension::time : Dimension::z;
}

}  // namespace

Planes chosen_planes(const std::vector<Axis>& axes, const MovieChoice& choice, const std::string& file) {
    const Dimension along = frame_dimension(axes, choice);
    Planes planes;
    planes.frames = 1;
    std::vector<const Axis*> open;
    std::int64_t stride = 1;
    for (auto axis = axes.rbegin(); axis != axes.rend(); stride *= (axis++)->size) {
        if (axis->dimension == along) {
            planes.step = stride, planes.frames = axis->size;
        } else if (const auto text = asked(axis->dimension, choice)) {
            const std::int64_t k = chosen(*axis, *text, file);
            planes.first += k * stride;
            if (axis->size > 1)
                planes.described = fmt::format("{} {}{}{}", word(axis->dimension), named(*axis, k),
                                               planes.described.empty() ? "" : ", ", planes.described);
        } else if (axis->size > 1) {
            open.insert(open.begin(), &*axis);
        }
    }
    const auto lacks = [&](Dimension dimension) {
        return std::none_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.dimension == dimension; });
    };
    for (const Dimension dimension : {Dimension::channel, Dimension::z, Dimension::position})
        if (const auto text = asked(dimension, choice); text && lacks(dimension))
            (void)chosen({dimension, 1, {}}, *text, file);
    if (!open.empty()) refuse_to_mix(open, file);
    return planes;
}

std::int64_t count_of(const std::vector<Axis>& axes) {
    constexpr std::int64_t most = std::int64_t(1) << 40;
    std::int64_t count = 1;
    for (const Axis& axis : axes) {
        if (axis.size < 1 || axis.size > most / count) return 0;
        count *= axis.size;
    }
    return count;
}

std::unique_ptr<Movie> picked(std::unique_ptr<Movie> movie, const Planes& planes) {
    const std::string name = movie->info().name;
    auto frames = std::make_unique<PickedFrames>(std::move(movie), planes);
    if (frames->info().frames == 0)
        throw InputError(fmt::format("{}: breaks off before the first frame of {}", name, planes.described));
    return frames;
}

void require_single_planes(const MovieChoice& choice, const std::string& file) {
    (void)chosen_planes({}, choice, file);
}

}  // namespace glint
