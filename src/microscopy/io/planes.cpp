// Chooses planes along the dimensions of a file.
// SPDX-License-Identifier: MIT
#include "io/planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "io/movie_files.hpp"

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
    return has_name && axis.names[std::size_t(k)] != fmt::format("{}", k)
               ? fmt::format("{} ({})", k, axis.names[std::size_t(k)])
               : fmt::format("{}", k);
}

/// "`channel=0` (DAPI) or 1 (GFP)", "`z=0` to 9", "`position=0` (A1) to 95 (H12)".
std::string offered(const Axis& axis) {
    constexpr std::int64_t most = 8;
    std::string text = fmt::format("`{}=0`{}", word(axis.dimension), named(axis, 0).substr(1));
    if (axis.size > most || axis.names.empty())
        return text + (axis.size == 1 ? "" : " to " + named(axis, axis.size - 1));
    for (std::int64_t k = 1; k < axis.size; ++k) text += (k + 1 == axis.size ? " or " : ", ") + named(axis, k);
    return text;
}

std::optional<std::int64_t> as_number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Returns the choice along an axis as text; nullopt if there is none.
std::optional<std::string> asked(Dimension dimension, const MovieChoice& choice) {
    if (dimension == Dimension::channel) return choice.channel;
    if (dimension == Dimension::position) return choice.position;
    if (dimension == Dimension::time || !choice.z) return std::nullopt;
    return fmt::format("{}", *choice.z);
}

std::int64_t chosen(const Axis& axis, const std::string& text, const std::string& file) {
    for (std::size_t k = 0; k < axis.names.size(); ++k)
        if (axis.names[k] == text) return std::int64_t(k);
    const auto number = as_number(text);
    if (!number || *number < 0 || *number >= axis.size)
        throw OptionError(
            fmt::format("{}: `{}={}` is not there: give {}", file, word(axis.dimension), text, offered(axis)));
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
        const std::int64_t left = info_.frames - planes.first;  // in a truncated file
        info_.frames = std::min(planes.frames, left <= 0 ? 0 : (left - 1) / planes.step + 1);
        info_.planes = planes.described;
    }
    PickedFrames(std::unique_ptr<Movie> movie, std::vector<std::int64_t> pages, std::string described,
                 std::vector<std::string> warnings)
        : movie_(std::move(movie)), pages_(std::move(pages)) {
        info_ = movie_->info();
        info_.frames = std::int64_t(pages_.size());
        info_.planes = std::move(described);
        info_.warnings.insert(info_.warnings.end(), warnings.begin(), warnings.end());
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        check_frames(info_, first, count);
        const std::size_t frame_bytes = info_.frame_bytes();
        for (int done = 0, run = 0; done < count; done += run) {
            const std::int64_t page = page_of(first + done);
            for (run = 1; done + run < count && page_of(first + done + run) == page + run;) ++run;
            try {
                movie_->read_to(page, run, out + std::size_t(done) * frame_bytes);
            } catch (const UnreadableFrame& error) {
                throw error.moved(first + done - page);
            }
        }
    }

  private:
    std::int64_t page_of(std::int64_t frame) const {
        return pages_.empty() ? planes_.first + frame * planes_.step : pages_[std::size_t(frame)];
    }

    std::unique_ptr<Movie> movie_;
    Planes planes_;
    std::vector<std::int64_t> pages_;
    MovieInfo info_;
};

/// Returns the axis of the frames: time, or z if there is a single time.
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

std::vector<Axis> several(std::vector<Axis> axes) {
    const auto longer = std::count_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.size > 1; });
    return longer > 1 ? axes : std::vector<Axis>();
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

std::unique_ptr<Movie> picked(std::unique_ptr<Movie> movie, std::vector<std::int64_t> pages, std::string described,
                              std::vector<std::string> warnings) {
    if (pages.empty())
        throw InputError(fmt::format("{}: breaks off before the first frame{}{}", movie->info().name,
                                     described.empty() ? "" : " of ", described));
    return std::make_unique<PickedFrames>(std::move(movie), std::move(pages), std::move(described),
                                          std::move(warnings));
}

namespace {

/// The different values of a dimension in ascending order, and the value of each plane.
template <class Value>
struct Values {
    std::vector<Value> sorted;
    explicit Values(const std::vector<PlaneAt>& planes, Value PlaneAt::*member) {
        for (const PlaneAt& plane : planes) sorted.push_back(plane.*member);
        std::sort(sorted.begin(), sorted.end(), Less());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    }
    struct Less {
        bool operator()(std::int64_t a, std::int64_t b) const { return a < b; }
        bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
    };
    std::int64_t size() const { return std::int64_t(sorted.size()); }
    std::int64_t index(const Value& value) const {
        return std::lower_bound(sorted.begin(), sorted.end(), value, Less()) - sorted.begin();
    }
};

/// Frames are numbered without gaps, so the numbers of frames after a missing one are too small.
void warn_of_gaps(const std::vector<std::int64_t>& frames, const char* what, const std::string& file,
                  PlanesAt& chosen) {
    std::uint64_t missing = 0;
    std::int64_t lowest = 0, highest = 0;
    for (std::size_t k = 1; k < frames.size(); ++k) {
        const std::uint64_t gap = std::uint64_t(frames[k]) - std::uint64_t(frames[k - 1]);
        if (gap == 0)
            throw InputError(
                fmt::format("{}: has {} {} twice: which of the two is the frame is not known", file, what, frames[k]));
        if (gap == 1) continue;
        if (missing == 0) lowest = frames[k - 1] + 1;
        highest = frames[k] - 1;
        missing += gap - 1;
    }
    if (missing == 0) return;
    const std::string which =
        missing == 1 ? fmt::format("{} {} is missing", what, lowest)
                     : fmt::format("{} {}s are missing, the first {}, the last {}", missing, what, lowest, highest);
    chosen.warnings.push_back(fmt::format("{}: {}, and frames behind it have too small numbers", file, which));
}

}  // namespace

PlanesAt chosen_planes(const std::vector<PlaneAt>& planes, const MovieChoice& choice, const std::string& file) {
    const Values times(planes, &PlaneAt::time), slices(planes, &PlaneAt::z);
    const Values positions(planes, &PlaneAt::position), channels(planes, &PlaneAt::channel);
    const bool frames_are_z = times.size() == 1 && slices.size() > 1 && !choice.z;
    const std::vector<Axis> axes{{Dimension::position, positions.size(), positions.sorted},
                                 {Dimension::time, times.size(), {}},
                                 {Dimension::z, slices.size(), {}},
                                 {Dimension::channel, channels.size(), channels.sorted}};
    const Planes regular = chosen_planes(axes, choice, file);
    const std::int64_t channel = regular.first % channels.size(), z = regular.first / channels.size() % slices.size();
    const std::int64_t position = regular.first / channels.size() / slices.size() / times.size();
    PlanesAt chosen{{}, regular.described, {}};
    for (std::size_t k = 0; k < planes.size(); ++k)
        if (channels.index(planes[k].channel) == channel && positions.index(planes[k].position) == position &&
            (frames_are_z || slices.index(planes[k].z) == z))
            chosen.indices.push_back(k);
    const auto frame_of = [&](std::size_t k) { return frames_are_z ? planes[k].z : planes[k].time; };
    std::sort(chosen.indices.begin(), chosen.indices.end(),
              [&](std::size_t a, std::size_t b) { return frame_of(a) < frame_of(b); });
    if (chosen.indices.empty()) throw InputError(fmt::format("{}: has no frame of {}", file, regular.described));
    std::vector<std::int64_t> frames;
    for (const std::size_t k : chosen.indices) frames.push_back(frame_of(k));
    warn_of_gaps(frames, frames_are_z ? "z plane" : "time", file, chosen);
    return chosen;
}

void require_single_planes(const MovieChoice& choice, const std::string& file) {
    (void)chosen_planes(std::vector<Axis>(), choice, file);
}

}  // namespace glint
