// Finds the sizes of frames in lines of text, whose number depends on the version, and the position of the first frame.
// SPDX-License-Identifier: MIT
#include "io/sif/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"

namespace glint::sif {
namespace {

/// Maximum length of the header before the sizes of the image; real headers have less than 20 kB.
constexpr std::uint64_t max_header_bytes = std::uint64_t(1) << 20;
/// Minimum length of the four data sets that are absent: background, reference and two more, "0
/// " each.
constexpr std::uint64_t bytes_of_absent_sets = 8;

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
    throw InputError(
        fmt::format("{}: {}: the file is damaged, or of a version of SIF that is not known; export it as "
                    "TIFF in Solis",
                    file.name(), why));
}

/// Reads lines of a file from any byte on.
class Lines {
  public:
    Lines(const InputFile& file, std::uint64_t at) : file_(file), piece_at_(at) {}
    /// Returns the byte behind the last line.
    std::uint64_t at() const { return piece_at_ + used_; }
    /// Returns the next line without its end. Nullopt if the file ends, or if the line is longer than any line of a
    /// header.
    std::optional<std::string> next();

  private:
    static constexpr std::size_t piece_bytes = 1 << 16, max_line_bytes = 4096;

    const InputFile& file_;
    std::uint64_t piece_at_;
    std::string piece_;
    std::size_t used_ = 0;
};

std::optional<std::string> Lines::next() {
    if (piece_.size() - used_ < max_line_bytes) {
        piece_at_ += used_;
        piece_ = bytes_at(file_, piece_at_, piece_bytes);
        used_ = 0;
    }
    const auto end = piece_.find('\n', used_);
    if (end == piece_.npos || end - used_ > max_line_bytes) return std::nullopt;
    std::string line = piece_.substr(used_, end - used_);
    used_ = end + 1;
    return line;
}

/// Returns the numbers of a text that contains only integers; empty for other texts.
std::vector<std::int64_t> integers_of(std::string_view text) {
    std::vector<std::int64_t> numbers;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const std::string_view word = text.substr(0, text.find(' '));
        const auto number = number_of<std::int64_t>(word);
        if (!number) return {};
        numbers.push_back(*number);
        text.remove_prefix(word.size());
    }
    return numbers;
}

/// The acquisition's settings: numbers in text, each after a space, and some single bytes.
class Settings {
  public:
    explicit Settings(std::string_view text) : text_(text) {}
    std::string_view word() {
        text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
        const std::string_view word = text_.substr(0, text_.find_first_of(" \n"));
        text_.remove_prefix(word.size());
        return word;
    }
    void skip_words(int count) {
        for (int k = 0; k < count; ++k) word();
    }
    void skip_bytes(int count) { text_.remove_prefix(std::min(text_.size(), std::size_t(2 * count) + 1)); }

  private:
    std::string_view text_;
};

/// The position of a frame on the sensor, in sensor pixels.
struct Area {
    std::int64_t left = 0, top = 0, right = 0, bottom = 0, vertical_bin = 0, horizontal_bin = 0;
};

/// The structure version, such as 65541, that ends `word`, which may begin with the text before it.
bool ends_with_version(std::string_view word) {
    if (word.size() < 5) return false;
    const auto version = number_of<int>(word.substr(word.size() - 5));
    return version && *version >= 65536 && *version < 65536 + 256;
}

/// Returns the image's sizes, if `line` contains them: version, left, top, right, bottom, frames, sub-images,
/// pixels of all and of one frame.
std::optional<std::array<std::int64_t, 8>> image_sizes(std::string_view line) {
    std::array<std::int64_t, 8> sizes{};
    for (std::size_t k = sizes.size(); k-- > 0;) {
        line = trimmed(line);
        const auto space = line.rfind(' ');
        if (space == line.npos) return std::nullopt;
        const auto number = number_of<std::int64_t>(line.substr(space + 1));
        if (!number) return std::nullopt;
        sizes[k] = *number;
        line = line.substr(0, space);
    }
    if (!ends_with_version(trimmed(line))) return std::nullopt;
    return sizes;
}

/// Exposure, accumulations and the camera's name, from the lines behind the first two.
void take_settings(std::string_view text, Header& header) {
    const auto line_end = text.find('\n');
    Settings settings(text);
    settings.skip_words(6);  // version, type, active, version, time, temperature
    settings.skip_bytes(5);  // head, storage, data, mode, trigger
    settings.skip_words(1);  // trigger level
    header.exposure_s = positive_number_of(settings.word());
    settings.skip_words(2);  // delay, cycle of an accumulation
    header.accumulations = number_of<std::int64_t>(settings.word()).value_or(1);
    if (line_end == text.npos) return;
    const std::string_view behind = text.substr(line_end + 1);
    header.camera = trimmed(behind.substr(0, behind.find('\n')));
}

/// Returns the pixels along an edge, from the range of sensor pixels and the binning. Flipped pictures have the larger
/// number first.
int edge(std::int64_t first, std::int64_t last, std::int64_t bin, const InputFile& file) {
    constexpr std::int64_t max_sensor_px = 1 << 20;
    const std::int64_t least = std::min(first, last), most = std::max(first, last);
    if (least < 0 || most > max_sensor_px || bin < 1 || bin > most - least + 1)
        refuse(file, fmt::format("says an area from pixel {} to {}, {} of which are one", first, last, bin));
    return int((most - least + 1) / bin);
}

/// Returns the area of a frame, if `line` contains it: version, left, top, right, bottom, bins, and an offset.
std::optional<Area> area_in(std::string_view line) {
    const auto numbers = integers_of(line);
    if (numbers.size() != 8 || !ends_with_version(trimmed(line).substr(0, 5))) return std::nullopt;
    return Area{numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]};
}

/// Finds the sizes, which follow the name of the frames' axis in their line, and the area of the frame in the next
/// line.
void take_sizes(const InputFile& file, const std::string& text, Header& header) {
    std::string_view before;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        if (end == text.npos) break;
        const std::string_view line = std::string_view(text).substr(begin, end - begin);
        const std::size_t next_end = std::min(text.find('\n', end + 1), text.size());
        const auto sizes = image_sizes(line);
        const auto area = sizes ? area_in(std::string_view(text).substr(end + 1, next_end - end - 1)) : std::nullopt;
        if (area) {
            const auto& [left, top, right, bottom, frames, areas, all_pixels, pixels] = *sizes;
            if (areas != 1)
                throw InputError(
                    fmt::format("{}: its frames consist of {} sub-images (tracks), and frames of one are read: export "
                                "it as TIFF in Solis",
                                file.name(), areas));
            if (frames < 1 || pixels < 1 || all_pixels / pixels != frames || all_pixels % pixels != 0)
                refuse(file, fmt::format("says {} frames of {} pixels, and {} in all", frames, pixels, all_pixels));
            header.frames = frames, header.pixels_of_frame = pixels;
            header.values = trimmed(before, " \t\r0123456789");  // the next text's length follows
            header.width = edge(area->left, area->right, area->horizontal_bin, file);
            header.height = edge(area->bottom, area->top, area->vertical_bin, file);
            if (std::int64_t(header.width) * header.height != pixels)
                refuse(file,
                       fmt::format("says frames of {}x{} px, and of {} pixels", header.width, header.height, pixels));
            header.first_byte = next_end + 1;
            return;
        }
        before = line;
        begin = end + 1;
    }
    refuse(file, "does not say the sizes of its frames");
}

/// Skips the flags. Solis may store a background and a reference in addition to the signal; neither is read.
std::uint64_t end_of_flags(const InputFile& file, std::int64_t frames, std::uint64_t at) {
    Lines lines(file, at);
    const auto flag = lines.next();
    if (flag == "0") return lines.at();
    if (flag != "1") return at;
    for (std::int64_t k = 0; k < frames; ++k)  // one number per frame
        if (const auto line = lines.next(); !line || integers_of(*line).size() != 1) return at;
    return lines.at();
}

}  // namespace

Header read_header(const InputFile& file) {
    const std::string text = bytes_at(file, 0, max_header_bytes);
    Header header;
    const auto second = text.find('\n') + 1, third = std::min(text.find('\n', second), text.size() - 1) + 1;
    const auto contents = integers_of(std::string_view(text).substr(second, third - second));
    if (contents.size() != 2 || contents[1] != 1) refuse(file, "does not contain a signal");
    take_settings(std::string_view(text).substr(third), header);
    take_sizes(file, text, header);
    Lines lines(file, header.first_byte);
    for (std::int64_t k = 0; k < header.frames; ++k)
        if (const auto line = lines.next(); !line || integers_of(*line).size() != 1)
            refuse(file, fmt::format("the time of frame {} of {} is missing", k + 1, header.frames));
    header.first_byte = lines.at();
    const std::uint64_t rest = file.size() - std::min(file.size(), header.first_byte), in_frame = 4;
    const std::uint64_t pixels = std::uint64_t(header.frames) * std::uint64_t(header.pixels_of_frame);
    const bool pixels_follow = rest >= bytes_of_absent_sets && (rest - bytes_of_absent_sets) / in_frame == pixels &&
                               (rest - bytes_of_absent_sets) % in_frame == 0;
    if (!pixels_follow) header.first_byte = end_of_flags(file, header.frames, header.first_byte);
    return header;
}

void take_acquisition(const Header& header, const std::string& name, MovieInfo& info) {
    info.camera = header.camera;
    if (header.exposure_s)
        info.exposure_ms = *header.exposure_s * 1e3 * double(std::max<std::int64_t>(1, header.accumulations));
    if (header.accumulations > 1)
        info.warnings.push_back(
            fmt::format("{}: each frame is the sum of {} exposures: its offset and the variance of its read noise are "
                        "{} times those of the camera, which have to be given so",
                        name, header.accumulations, header.accumulations));
    if (!header.values.starts_with("Counts"))
        info.warnings.push_back(
            fmt::format("{}: its pixels are `{}`, not counts of the camera: give the offset and the gain of these "
                        "values (offset 0 and gain 1 if they are photoelectrons)",
                        name, header.values));
    else if (header.values.find("BG") != std::string::npos)
        info.warnings.push_back(fmt::format(
            "{}: a background was subtracted (`{}`): give the offset that is left, such as 0", name, header.values));
}

}  // namespace glint::sif
