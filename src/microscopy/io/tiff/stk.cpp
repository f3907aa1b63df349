// MetaMorph's tags UIC1 and UIC2, which libtiff does not know, and the exposure in its description.
// SPDX-License-Identifier: MIT
#include "io/tiff/dialects.hpp"

#include <optional>
#include <string_view>

#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"

namespace glint {
namespace {

constexpr std::uint16_t uic1_tag = 33628, uic2_tag = 33629;
constexpr std::uint64_t max_pairs = 4096;           // of UIC1; MetaMorph writes some 60
constexpr std::uint64_t longest_text_bytes = 1024;  // of a unit

struct StkEntry {
    std::uint16_t type = 0;
    std::uint32_t count = 0, value = 0;  ///< value: where in the file the tag's values are
};

/// The entry of a tag in the first directory. MetaMorph writes little-endian classic TIFF.
std::optional<StkEntry> entry_of(std::uint16_t tag, std::string_view directory) {
    for (std::size_t at = 0; at + 12 <= directory.size(); at += 12)
        if (number_at<std::uint16_t>(directory, at) == tag)
            return StkEntry{number_at<std::uint16_t>(directory, at + 2), number_at<std::uint32_t>(directory, at + 4),
                            number_at<std::uint32_t>(directory, at + 8)};
    return std::nullopt;
}

double fraction_at(const InputFile& file, std::uint64_t offset) {
    const std::string bytes = bytes_at(file, offset, 8);
    const std::uint32_t denominator = number_at<std::uint32_t>(bytes, 4);
    return denominator == 0 ? 0 : number_at<std::uint32_t>(bytes, 0) / double(denominator);
}

std::string text_at(const InputFile& file, std::uint64_t offset) {
    const std::uint32_t length = number_at<std::uint32_t>(bytes_at(file, offset, 4), 0);
    const std::string text = length <= longest_text_bytes ? bytes_at(file, offset + 4, length) : "";
    return text.substr(0, text.find('\0'));
}

/// UIC1: pairs of a kind of value, and the value or its position.
struct StkCalibration {
    bool is_on = false;
    double x = 0, y = 0;
    std::string unit;
};

StkCalibration read_calibration(const InputFile& file, const StkEntry& uic1) {
    StkCalibration calibration;
    const std::string pairs = bytes_at(file, uic1.value, std::min<std::uint64_t>(uic1.count, max_pairs) * 8);
    for (std::size_t at = 0; at + 8 <= pairs.size(); at += 8) {
        const auto value = number_at<std::uint32_t>(pairs, at + 4);
        switch (number_at<std::uint32_t>(pairs, at)) {
            case 3: calibration.is_on = value != 0; break;
            case 4: calibration.x = fraction_at(file, value); break;
            case 5: calibration.y = fraction_at(file, value); break;
            case 6: calibration.unit = text_at(file, value); break;
            default: break;
        }
    }
    return calibration;
}

}  // namespace

std::optional<double> exposure_ms_of(std::string_view description) {
    constexpr std::string_view key = "Exposure: ";
    const auto at = description.find(key);
    if (at == description.npos) return std::nullopt;
    std::string_view rest = description.substr(at + key.size());
    rest = rest.substr(0, rest.find_first_of("\r\n&<"));
    const auto blank = rest.find(' ');
    const auto value = positive_number_of(rest.substr(0, blank));
    const std::string_view unit = blank == rest.npos ? "" : trimmed(rest.substr(blank));
    if (!value || (unit != "ms" && unit != "msec" && unit != "s" && unit != "sec")) return std::nullopt;
    return unit.starts_with('m') ? *value : *value * 1e3;
}

void take_stk(const TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata) {
    using namespace std::string_view_literals;
    const std::string header = bytes_at(file, 0, 8);
    if (!header.starts_with("II*\0"sv)) return;
    const auto offset = number_at<std::uint32_t>(header, 4);
    const auto entries = number_at<std::uint16_t>(bytes_at(file, offset, 2), 0);
    const std::string directory = bytes_at(file, std::uint64_t(offset) + 2, std::uint64_t(entries) * 12);
    const auto uic2 = entry_of(uic2_tag, directory), uic1 = entry_of(uic1_tag, directory);
    if (!uic2 || uic2->type != TIFF_RATIONAL || uic2->count == 0) return;
    metadata.images = uic2->count;
    metadata.is_stk = true;
    metadata.stated_by = "MetaMorph's tag UIC2";
    if (uic1 && uic1->type == TIFF_LONG) {
        const StkCalibration calibration = read_calibration(file, *uic1);
        if (const auto nm = nm_of_unit(calibration.unit); nm && calibration.is_on)
            take_pixel_size(calibration.x * *nm, calibration.y * *nm, metadata);
    }
    const char* description = nullptr;
    if (TIFFGetField(tiff.get(), TIFFTAG_IMAGEDESCRIPTION, &description) && description)
        metadata.exposure_ms = exposure_ms_of(description);
}

}  // namespace glint
