// Reads frames, rounds them to 8 bits and compresses them.
// SPDX-License-Identifier: MIT
#include "report/raw_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "glint/error.hpp"
#include "report/base64.hpp"

namespace glint {
namespace {

/// The part of each frame that is stored.
struct FrameCrop {
    int x = 0, y = 0, width = 0, height = 0;
};

std::vector<float> counts_of(const FrameBlock& block, const FrameCrop& crop) {
    std::vector<float> counts;
    counts.reserve(std::size_t(crop.width) * std::size_t(crop.height));
    const std::byte* frame = block.frame(0);
    const auto add_row = [&](auto type, int y) {
        using Count = decltype(type);
        for (int x = crop.x; x < crop.x + crop.width; ++x) {
            Count count;
            std::memcpy(&count, frame + (std::size_t(y) * std::size_t(block.width) + std::size_t(x)) * sizeof(Count),
                        sizeof(Count));
            counts.push_back(float(count));
        }
    };
    for (int y = crop.y; y < crop.y + crop.height; ++y) {
        if (block.type == PixelType::uint8)
            add_row(std::uint8_t(), y);
        else if (block.type == PixelType::uint16)
            add_row(std::uint16_t(), y);
        else
            add_row(float(), y);
    }
    return counts;
}

/// Returns the rows of a frame where the camera saw them, with three decimals.
PageJson rows_json(const Localizations& table, const std::vector<std::size_t>& rows, const Drift* drift) {
    const auto moved_px = [&](const AxisDrift& axis, std::size_t frame) {
        return frame < axis.nm.size() && table.pixel_size_nm > 0 ? axis.nm[frame] / table.pixel_size_nm : 0;
    };
    const auto number = [](double value) { return std::round(value * 1000) / 1000; };
    PageJson json = PageJson::array();
    for (const std::size_t row : rows) {
        PageJson one = PageJson::array();
        const std::size_t frame = table.frame[row];
        one.push_back(number(table.x_px[row] + (drift ? moved_px(drift->x, frame) : 0)));
        one.push_back(number(table.y_px[row] + (drift ? moved_px(drift->y, frame) : 0)));
        for (const std::vector<float>* column : {&table.photons, &table.bg, &table.sx_px, &table.sy_px})
            one.push_back(column->empty() || !std::isfinite((*column)[row]) ? PageJson()
                                                                            : PageJson(number((*column)[row])));
        json.push_back(std::move(one));
    }
    return json;
}

}  // namespace

RawFrames read_raw_frames(Movie& movie, const Localizations& table, int count, double max_bytes, const Drift* drift,
                          const StopFlag* stop) {
    const MovieInfo& info = movie.info();
    RawFrames found;
    const std::int64_t frames = std::min<std::int64_t>(count, info.frames);
    if (frames <= 0) return found;
    // Base64 adds a third; camera noise compresses little.
    const double pixels = max_bytes * 0.75 / double(frames);
    FrameCrop crop{0, 0, info.width, info.height};
    if (double(info.width) * info.height > pixels) {
        const double edge = std::sqrt(pixels);
        crop.width = std::min(info.width, int(std::max(edge, pixels / info.height)));
        crop.height = std::min(info.height, int(pixels / crop.width));
        crop.x = (info.width - crop.width) / 2, crop.y = (info.height - crop.height) / 2;
        found.note = fmt::format("Raw frames show the central {} x {} of {} x {} pixels.", crop.width, crop.height,
                                 info.width, info.height);
    }
    std::vector<std::vector<std::size_t>> rows_of(static_cast<std::size_t>(frames));
    std::vector<std::int64_t> numbers;
    for (std::int64_t k = 0; k < frames; ++k) numbers.push_back((2 * k + 1) * info.frames / (2 * frames));
    for (std::size_t row = 0; row < table.size(); ++row) {
        const auto at = std::lower_bound(numbers.begin(), numbers.end(), std::int64_t(table.frame[row]));
        if (at != numbers.end() && *at == std::int64_t(table.frame[row]))
            rows_of[std::size_t(at - numbers.begin())].push_back(row);
    }
    FrameBlock block;
    double bytes = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        if (stop && *stop) throw Cancelled("stopped while raw frames were read");
        movie.read(numbers[k], 1, block);
        const std::vector<float> counts = counts_of(block, crop);
        float low = INFINITY, high = -INFINITY;
        for (const float value : counts)
            if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
        if (!(low <= high)) low = high = 0;
        const double scale = high > low ? 255 / std::sqrt(double(high) - low) : 0;
        std::vector<std::uint8_t> codes;
        codes.reserve(counts.size());
        for (const float value : counts)
            codes.push_back(std::isfinite(value) ? std::uint8_t(std::lround(scale * std::sqrt(double(value) - low)))
                                                 : std::uint8_t(0));
        ColumnDeflater deflater;
        deflater.append(codes);
        std::string text = base64(deflater.take());
        bytes += double(text.size());
        if (bytes > max_bytes) break;
        found.json.push_back({{"frame", numbers[k]},
                              {"x", crop.x},
                              {"y", crop.y},
                              {"width", crop.width},
                              {"height", crop.height},
                              {"low", low},
                              {"high", high},
                              {"rows", rows_json(table, rows_of[k], drift)}});
        found.texts.push_back(std::move(text));
    }
    return found;
}

}  // namespace glint
