// Averages the low levels of a sample's pixels (docs/explanation/theory.md, section 5, Static background).
// SPDX-License-Identifier: MIT
#include "pipeline/temporal_means.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/aligned.hpp"
#include "base/isa.hpp"
#include "base/median.hpp"
#include "data/counts.hpp"
#include "detect/frame_math.hpp"
#include "glint/error.hpp"
#include "pipeline/temporal_rows.hpp"

namespace glint {
namespace {

constexpr std::size_t sample_bytes = std::size_t(1) << 27;  // maximum size of the sample's counts in memory
constexpr int min_rows = 32, band_rows = 32;
constexpr float beyond_any = std::numeric_limits<float>::infinity();

/// Whole rows of a frame, as raw counts.
struct SampledFrame {
    std::vector<std::byte> counts;
    std::vector<float> masked_e;  // substituted value of each masked pixel of the frame
    float level = 1;              // of the whole frame; later relative to the mean of all frames
    float level_error = 0;        // e-
};

/// A frame's light, e-, and its standard error.
struct Level {
    float e = 0, error = 0;
};

/// Returns the mean of the middle half of about 1,000 pixels. A median would be a whole count, and might alternate
/// between two.
Level level_of(std::span<const float> frame, const CameraView& camera) {
    std::vector<float> values;
    for (std::size_t k = 0; k < frame.size(); k += frame.size() / 1021 + 1)
        if (frame[k] < beyond_any) values.push_back(frame[k]);
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t first = values.size() / 4, end = std::max(3 * values.size() / 4, first + 1);
    float sum = 0, variances = 0;
    for (std::size_t k = first; k < end; ++k) {
        sum += values[k];
        variances += shot_noise(std::max(values[k], 1.0f), camera.excess_noise()) + camera.variance_scalar();
    }
    const float n = float(end - first);
    return {sum / n, std::sqrt(variances) / n};
}

/// Returns the levels of frames relative to their mean. All are 1 if they agree within errors or a tenth, or if there
/// is too little light.
std::vector<float> relative(std::vector<float> levels, float error) {
    constexpr float same = 0.1f, errors = 8, min_e = 1;  // 256 frames are within 6 errors
    const float mean =
        std::accumulate(levels.begin(), levels.end(), 0.0f) / float(std::max<std::size_t>(levels.size(), 1));
    const auto [low, high] = std::minmax_element(levels.begin(), levels.end());
    const bool is_steady = levels.empty() || *low < min_e || *high - *low < std::max(same * mean, errors * error);
    for (float& level : levels) level = is_steady ? 1 : level / mean;
    return levels;
}

/// Removes frames with far less light than the median, as before the shutter opens or the laser is on. A movie that
/// fades has many such frames, and keeps all.
void leave_out_dark_frames(std::vector<SampledFrame>& frames) {
    constexpr float dark = 0.5f, min_e = 1;  // dark: relative to the median level
    std::vector<float> levels;
    for (const SampledFrame& frame : frames) levels.push_back(frame.level);
    const float typical = float(median(std::move(levels)));
    const auto is_dark = [&](const SampledFrame& frame) { return frame.level < dark * typical; };
    const auto few = std::ptrdiff_t(frames.size() / 4);
    if (typical < min_e || std::count_if(frames.begin(), frames.end(), is_dark) > few) return;
    std::erase_if(frames, is_dark);
}

/// Returns rows [first, first + rows) of a sample of frames, without unreadable and dark frames.
std::vector<SampledFrame> sample(Movie& movie, const LocalizeJob& job, std::int64_t count, int first, int rows) {
    const std::size_t pixels = std::size_t(job.camera.width()) * std::size_t(job.camera.height());
    const std::size_t row_bytes = std::size_t(job.camera.width()) * std::size_t(num_bytes(movie.info().type));
    tbb::enumerable_thread_specific<AlignedFloats> photoelectrons([&] { return AlignedFloats(pixels); });
    std::vector<SampledFrame> frames(static_cast<std::size_t>(count));
    tbb::parallel_for(std::int64_t(0), count, [&](std::int64_t k) {
        FrameBlock block;
        try {
            movie.read(job.frames.begin + k * (job.frames.end - job.frames.begin) / count, 1, block);
        } catch (const InputError&) {
            return;
        }
        SampledFrame& to = frames[std::size_t(k)];
        AlignedFloats& light = photoelectrons.local();
        job.camera.to_photoelectrons(block.frame(0), block.type, light);
        const Level level = level_of(light, job.camera);
        to.level = level.e, to.level_error = level.error;
        if (job.camera.maps())
            for (const CameraView::MaskedPixel& one : job.camera.maps()->masked) to.masked_e.push_back(light[one.at]);
        if (rows == job.camera.height())
            to.counts = std::move(block.bytes);
        else
            to.counts.assign(block.frame(0) + std::size_t(first) * row_bytes,
                             block.frame(0) + std::size_t(first + rows) * row_bytes);
    });
    std::erase_if(frames, [](const SampledFrame& frame) { return frame.counts.empty(); });
    if (frames.empty()) return frames;
    leave_out_dark_frames(frames);
    std::vector<float> levels;
    float error = 0;
    for (const SampledFrame& frame : frames) levels.push_back(frame.level), error = std::max(error, frame.level_error);
    levels = relative(std::move(levels), error);
    for (std::size_t k = 0; k < frames.size(); ++k) frames[k].level = levels[k];
    return frames;
}

/// Computes means for some rows of a strip. Each row is read in all frames, searched for bright pixels, and averaged,
/// so it stays in a core's cache.
class Band {
  public:
    /// `frames` contain `rows` rows each, from `first_row` of the whole frame on.
    Band(const LocalizeJob& job, PixelType type, const std::vector<SampledFrame>& frames, int first_row, int rows,
         int reach_px)
        : camera_(job.camera),
          type_(type),
          frames_(frames),
          first_row_(first_row),
          rows_(rows),
          reach_(reach_px),
          padded_((job.camera.width() + row_step - 1) / row_step * row_step),
          values_(frames.size() * std::size_t(stride()), 0),
          shot_(std::size_t(padded_), 0),
          read_(shot_),
          limits_(shot_),
          above_(std::size_t(padded_ + 2 * reach_px)),
          bright_(frames.size() * std::size_t(stride())) {
        for (int half = 0; half < 2; ++half)
            for (std::size_t k = 0; k < frames.size(); ++k)
                if ((2 * k >= frames.size()) == (half == 1)) level_of_half_[half] += frames[k].level;
        dimmest_ = frames.front().level;  // the dimmest frame has the most noise
        for (const SampledFrame& frame : frames) dimmest_ = std::min(dimmest_, frame.level);
    }

    /// Computes the means of rows [begin, end) of the frame.
    void take_means(int begin, int end, TemporalMeans& to) {
        const int from = std::max(begin - reach_, first_row_), until = std::min(end + reach_, first_row_ + rows_);
        const std::size_t row_marks = bright_.size();
        marks_.resize(std::size_t(until - from) * row_marks);
        for (int y = from; y < until; ++y) mark(y, marks_.data() + std::size_t(y - from) * row_marks);
        for (int y = begin; y < end; ++y) {
            std::fill(bright_.begin(), bright_.end(), 0);
            for (int v = std::max(y - reach_, from); v < std::min(y + reach_ + 1, until); ++v) GLINT_PICK(unite_marks)
            (marks_.data() + std::size_t(v - from) * row_marks, int(row_marks), bright_.data());
            take_row(y, to);
        }
    }

  private:
    // Not a power of 2, which would map the frames of a pixel to the same few cache lines.
    long stride() const { return padded_ + 16; }
    RowOfFrames row() const { return {values_.data(), stride(), padded_, int(frames_.size())}; }

    /// Reads row y of all frames.
    void read(int y) {
        const std::size_t width = std::size_t(camera_.width()), at = std::size_t(y) * width;
        const CameraView::Maps* maps = camera_.maps().get();
        const CameraView::Pixel all = camera_.pixel(at);
        const CountsScale scale{maps ? maps->offset.data() + at : nullptr, maps ? maps->factor.data() + at : nullptr,
                                all.offset_adu, all.factor_e_per_adu};
        for (std::size_t k = 0; k < frames_.size(); ++k) {
            const SampledFrame& frame = frames_[k];
            float* to = values_.data() + std::ptrdiff_t(k) * stride();
            const std::byte* counts =
                frame.counts.data() + std::size_t(y - first_row_) * width * std::size_t(num_bytes(type_));
            switch (type_) {
                case PixelType::uint8:
                    GLINT_PICK(scale_uint8)(reinterpret_cast<const std::uint8_t*>(counts), width, scale, to);
                    break;
                case PixelType::uint16:
                    GLINT_PICK(scale_uint16)(reinterpret_cast<const std::uint16_t*>(counts), width, scale, to);
                    break;
                case PixelType::float32:
                    GLINT_PICK(scale_float32)(reinterpret_cast<const float*>(counts), width, scale, to);
                    for (std::size_t x = 0; x < width; ++x)
                        if (!std::isfinite(to[x])) to[x] = std::numeric_limits<float>::quiet_NaN();
            }
            if (maps) mend(y, frame, to);
            if (frame.level != 1)
                for (std::size_t x = 0; x < width; ++x) to[x] /= frame.level;
        }
    }
    void mend(int y, const SampledFrame& frame, float* to) const {
        const auto& masked = camera_.maps()->masked;
        const std::uint32_t width = std::uint32_t(camera_.width()), first = std::uint32_t(y) * width;
        auto one = std::lower_bound(masked.begin(), masked.end(), first,
                                    [](const CameraView::MaskedPixel& m, std::uint32_t at) { return m.at < at; });
        for (; one != masked.end() && one->at < first + width; ++one)
            to[one->at - first] = frame.masked_e[std::size_t(one - masked.begin())];
    }
    /// Marks the bright pixels of row y in all frames, and those beside them along the row.
    void mark(int y, std::uint8_t* to) {
        read(y);
        for (int x = 0; x < camera_.width(); ++x) {
            const auto pixel = camera_.pixel(std::size_t(y) * std::size_t(camera_.width()) + std::size_t(x));
            shot_[std::size_t(x)] = camera_.excess_noise() / pixel.qe / dimmest_;
            read_[std::size_t(x)] = pixel.variance_e2 / (dimmest_ * dimmest_);
        }
        GLINT_PICK(find_row_limits)(row(), shot_.data(), read_.data(), limits_.data());
        for (std::size_t k = 0; k < frames_.size(); ++k) GLINT_PICK(mark_bright)
        (values_.data() + std::ptrdiff_t(k) * stride(), limits_.data(), padded_, reach_, above_.data(),
         to + std::ptrdiff_t(k) * stride());
    }
    void take_row(int y, TemporalMeans& to) {
        read(y);
        const std::size_t width = std::size_t(camera_.width()), at = std::size_t(y) * width;
        std::vector<float>* const maps[] = {&to.all, &to.even, &to.odd, &to.early, &to.late, &to.plain};
        std::array<std::vector<float>, 6>& rows = means_;
        for (std::vector<float>& one : rows) one.resize(std::size_t(padded_));
        unsteady_.resize(std::size_t(padded_));
        GLINT_PICK(take_row_means)
        (row(), bright_.data(), stride(), level_of_half_.data(),
         {rows[0].data(), rows[1].data(), rows[2].data(), rows[3].data(), rows[4].data(), rows[5].data(),
          unsteady_.data()});
        for (std::size_t k = 0; k < rows.size(); ++k)
            if (!maps[k]->empty()) std::copy_n(rows[k].begin(), width, maps[k]->begin() + std::ptrdiff_t(at));
        std::copy_n(unsteady_.begin(), width, to.unsteady.begin() + std::ptrdiff_t(at));
    }

    const CameraView& camera_;
    PixelType type_;
    const std::vector<SampledFrame>& frames_;
    int first_row_, rows_, reach_, padded_;
    float dimmest_ = 1;
    std::array<float, 2> level_of_half_{};
    AlignedFloats values_, shot_, read_, limits_;
    std::vector<std::uint8_t> above_, bright_, marks_, unsteady_;
    std::array<std::vector<float>, 6> means_;
};

}  // namespace

TemporalMeans temporal_means(Movie& movie, const LocalizeJob& job, std::int64_t frames, int reach_px,
                             bool with_halves) {
    const int width = job.camera.width(), height = job.camera.height();
    const std::size_t pixels = std::size_t(width) * std::size_t(height);
    TemporalMeans means;
    for (auto* map : {&means.all, &means.odd, &means.even, &means.plain}) map->resize(pixels);
    if (with_halves) means.early.resize(pixels), means.late.resize(pixels);
    means.unsteady.resize(pixels);
    const PixelType type = movie.info().type;
    const std::size_t row_bytes = std::size_t(frames) * std::size_t(width) * std::size_t(num_bytes(type));
    const int rows = std::max(int(sample_bytes / row_bytes) - 2 * reach_px, min_rows);
    for (int top = 0; top < height; top += rows) {
        const int bottom = std::min(top + rows, height), first = std::max(top - reach_px, 0),
                  end = std::min(bottom + reach_px, height);
        const std::vector<SampledFrame> strip = sample(movie, job, frames, first, end - first);
        if (strip.empty()) break;
        tbb::parallel_for(0, (bottom - top + band_rows - 1) / band_rows, [&](int band) {
            const int begin = top + band * band_rows;
            Band(job, type, strip, first, end - first, reach_px)
                .take_means(begin, std::min(begin + band_rows, bottom), means);
        });
    }
    return means;
}

}  // namespace glint
