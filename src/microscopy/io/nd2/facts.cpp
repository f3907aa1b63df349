// Reads ImageAttributesLV (sizes), ImageMetadataLV (loops of the acquisition), ImageMetadataSeqLV|0 (channels,
// camera).
// SPDX-License-Identifier: MIT
#include "io/nd2/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/metadata_values.hpp"

namespace glint::nd2 {
namespace {

constexpr const char* way_out = "save it as TIFF in NIS-Elements or Fiji";
constexpr int max_components = 4096, deepest_loop = 16;
constexpr std::int64_t max_planes = std::int64_t(1) << 40;

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
    throw InputError(fmt::format("{}: {}; {}", file.name(), why, way_out));
}

/// A whole number from `least` to `most`.
std::int64_t whole(const InputFile& file, const Value& values, const char* name, std::int64_t least,
                   std::int64_t most) {
    const double number = values.number_of(name, -1);
    if (!(number >= double(least) && number <= double(most)) || number != std::floor(number))
        refuse(file, fmt::format("its metadata say `{}: {}`, which is outside {} to {}", name,
                                 values.child(name) ? fmt::format("{:.15g}", number) : "nothing", least, most));
    return std::int64_t(number);
}

StoredPixel stored_pixel(const InputFile& file, std::int64_t bits) {
    if (bits == 8) return StoredPixel::uint8;
    if (bits == 16) return StoredPixel::uint16;
    if (bits == 32) return StoredPixel::float32;
    refuse(file, fmt::format("has pixels of {} bits (uiBpcInMemory); 8, 16 and 32 are read", bits));
}

void read_attributes(const InputFile& file, const Value& attributes, Facts& facts) {
    facts.width = int(whole(file, attributes, "uiWidth", 1, largest_edge_px));
    facts.height = int(whole(file, attributes, "uiHeight", 1, largest_edge_px));
    facts.components = int(whole(file, attributes, "uiComp", 1, max_components));
    facts.stored = stored_pixel(file, whole(file, attributes, "uiBpcInMemory", 1, 64));
    facts.sequences = whole(file, attributes, "uiSequenceCount", 0, max_planes);
    const std::int64_t row = std::int64_t(facts.width) * facts.components * num_bytes(facts.stored);
    const std::int64_t padded = whole(file, attributes, "uiWidthBytes", 0, std::int64_t(1) << 32);
    facts.row_bytes = std::uint64_t(padded == 0 ? row : padded);
    if (facts.row_bytes < std::uint64_t(row))
        refuse(file, fmt::format("its metadata contradict each other: rows of {} bytes (uiWidthBytes) for {} pixels of "
                                 "{} bytes: the file is damaged",
                                 facts.row_bytes, facts.width, row / facts.width));
    const double compression = attributes.number_of("eCompression", 2);
    if (compression == 1) refuse(file, "has lossy compression (eCompression 1), which changes counts and is not read");
    facts.is_compressed = compression == 0;
}

/// Returns how many of a loop's items are valid, if the loop contains it.
std::int64_t positions(const Value& loop, const Value& parameters) {
    const Value* points = parameters.child("Points");
    const auto count = points ? std::int64_t(points->children.size()) : std::int64_t(parameters.number_of("uiCount"));
    const Value* valid = loop.child("pItemValid");
    if (!valid) return count;
    const auto is_set = [](const Value& item) { return item.number != 0; };
    if (!valid->children.empty())
        return std::min<std::int64_t>(count, std::count_if(valid->children.begin(), valid->children.end(), is_set));
    if (valid->text.empty()) return count;
    return std::min<std::int64_t>(
        count, std::count_if(valid->text.begin(), valid->text.end(), [](char one) { return one != 0; }));
}

std::vector<std::string> position_names(const Value& parameters) {
    std::vector<std::string> names;
    if (const Value* points = parameters.child("Points"))
        for (const Value& point : points->children) {
            const std::string name = point.text_of("dPosName");
            names.push_back(name.empty() ? point.text_of("pPosName") : name);
        }
    const bool has_name = std::any_of(names.begin(), names.end(), [](const auto& name) { return !name.empty(); });
    return has_name ? names : std::vector<std::string>{};
}

/// Times of an acquisition in phases.
double phases_count(const Value& parameters) {
    const Value* periods = parameters.child("pPeriod");
    const Value* valid = parameters.child("pPeriodValid");
    double count = 0;
    for (std::size_t k = 0; periods && k < periods->children.size(); ++k) {
        const bool is_listed = valid && k < valid->children.size() && valid->children[k].number != 0;
        const bool is_set = valid && k < valid->text.size() && valid->text[k] != 0;
        if (is_listed || is_set) count += std::max(periods->children[k].number_of("uiCount"), 0.0);
    }
    return count;
}

/// Returns the axis of one loop. Size 0 if there is none, or if frames do not count it (wavelengths).
Axis axis_of(const InputFile& file, const Value& loop) {
    const Value* parameters = loop.child("uLoopPars");
    if (!parameters || parameters->children.empty()) return {Dimension::time, 0, {}};
    if (parameters->children.size() == 1 && parameters->children[0].name.empty() &&
        !parameters->children[0].children.empty())
        parameters = &parameters->children[0];
    const double type = loop.number_of("eType");
    const auto counted = [&](Dimension dimension, double count) {
        if (!(count >= 0 && count <= double(max_planes)))
            refuse(file, fmt::format("its metadata say a loop of {:.15g} frames: the file is damaged", count));
        return Axis{dimension, std::int64_t(count), {}};
    };
    if (type == 1) return counted(Dimension::time, parameters->number_of("uiCount"));
    if (type == 4) return counted(Dimension::z, parameters->number_of("uiCount"));
    if (type == 8) return counted(Dimension::time, phases_count(*parameters));
    if (type == 6 || type == 0) return {Dimension::time, 0, {}};
    if (type != 2)
        refuse(file, fmt::format("was acquired with a loop of type {:.15g}, which glint does not know", type));
    Axis axis = counted(Dimension::position, double(positions(loop, *parameters)));
    axis.names = position_names(*parameters);
    if (std::int64_t(axis.names.size()) != axis.size) axis.names.clear();
    return axis;
}

/// Adds a loop and its inner loops. If there are several on a level, as in each phase of an acquisition, the longest
/// counts.
void add_loops(const InputFile& file, const Value& loop, std::size_t level, std::vector<Axis>& axes) {
    if (level > deepest_loop) refuse(file, fmt::format("has more than {} loops in one another", deepest_loop));
    Axis axis = axis_of(file, loop);
    const bool is_counted = axis.size > 0;
    if (is_counted && level >= axes.size())
        axes.push_back(std::move(axis));
    else if (is_counted && axes[level].dimension == axis.dimension && axes[level].size < axis.size)
        axes[level] = std::move(axis);
    const Value* inner = loop.child("ppNextLevelEx");
    for (std::size_t k = 0; inner && k < inner->children.size(); ++k)
        add_loops(file, inner->children[k], level + (is_counted ? 1 : 0), axes);
}

/// Checks that each dimension has one axis, and that the number of planes is representable.
void check_axes(const InputFile& file, std::vector<Axis>& axes) {
    double planes = 1;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        planes *= double(axes[k].size);
        for (std::size_t other = 0; other < k; ++other)
            if (axes[other].dimension == axes[k].dimension)
                refuse(file, "was acquired with two loops of the same kind in one another, which glint does not read");
    }
    if (planes > double(max_planes))
        refuse(file, fmt::format("its metadata say {:.0f} frames: the file is damaged", planes));
}

void read_loops(const InputFile& file, const Value* experiment, Facts& facts) {
    if (experiment) add_loops(file, *experiment, 0, facts.axes);
    check_axes(file, facts.axes);
    if (facts.axes.empty()) facts.axes.push_back({Dimension::time, std::max<std::int64_t>(facts.sequences, 1), {}});
}

void read_channels(const InputFile& file, const Value* planes, Facts& facts) {
    Axis channels{Dimension::channel, facts.components, {}};
    const Value* list = planes ? planes->child("sPlaneNew") : nullptr;
    if (planes && (!list || list->children.empty())) list = planes->child("sPlane");
    for (std::size_t k = 0; list && k < list->children.size(); ++k) {
        if (list->children[k].number_of("uiCompCount", 1) > 1)
            refuse(file, "is a colour image (several components in one channel), which is not read");
        channels.names.push_back(list->children[k].text_of("sDescription"));
    }
    if (std::int64_t(channels.names.size()) != channels.size) channels.names.clear();
    facts.axes.push_back(std::move(channels));
}

void read_camera(const Value* metadata, Facts& facts) {
    if (!metadata) return;
    const double size_nm = metadata->number_of("dCalibration") * 1e3;
    if (metadata->number_of("bCalibrated") != 0 && size_nm >= smallest_pixel_nm && size_nm <= largest_pixel_nm)
        facts.pixel_size_nm = size_nm;
    const Value* samples = follow(metadata, {"sPicturePlanes", "sSampleSetting"});
    if (!samples || samples->children.empty()) return;
    const Value& first = samples->children[0];
    const double exposure = first.number_of("dExposureTime");
    if (exposure > 0 && std::isfinite(exposure)) facts.exposure_ms = exposure;
    if (const Value* camera = first.child("pCameraSetting")) facts.camera = camera->text_of("CameraUserName");
}

}  // namespace

Facts read_facts(const InputFile& file, const Chunks& chunks) {
    const auto attributes = values_of(file, chunks, "ImageAttributesLV");
    const Value* sizes = attributes ? attributes->child("SLxImageAttributes") : nullptr;
    if (!sizes && chunks.recovered)
        throw InputError(
            fmt::format("{}: was not finished, or lost its end while it was copied: it has no map of chunks, and does "
                        "not say how large its frames are; copy it again, or let NIS-Elements repair it",
                        file.name()));
    if (!sizes) refuse(file, "does not say how large its frames are (ImageAttributesLV)");
    const auto experiment = values_of(file, chunks, "ImageMetadataLV"),
               metadata = values_of(file, chunks, "ImageMetadataSeqLV|0");
    const Value* picture = metadata ? metadata->child("SLxPictureMetadata") : nullptr;
    Facts facts;
    read_attributes(file, *sizes, facts);
    read_loops(file, experiment ? experiment->child("SLxExperiment") : nullptr, facts);
    read_channels(file, follow(picture, {"sPicturePlanes"}), facts);
    read_camera(picture, facts);
    return facts;
}

}  // namespace glint::nd2
