// Walks through the elements: an image is an element with pixels, inside folders, which are also elements.
// SPDX-License-Identifier: MIT
#include "io/lif/images.hpp"

#include <cmath>
#include <set>

#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/xml_text.hpp"

namespace glint::lif {
namespace {

template <class T>
T number(const pugi::xml_node& element, const char* key, T otherwise = {}) {
    return number_of<T>(trimmed(attribute(element, key))).value_or(otherwise);
}

std::optional<StoredPixel> stored_as(int kind, int bits) {
    const bool is_float = kind == 1;
    if ((kind != 0 && !is_float) || bits < 1 || bits > 64) return std::nullopt;
    if (bits <= 8) return is_float ? std::nullopt : std::optional(StoredPixel::uint8);
    if (bits <= 16) return is_float ? StoredPixel::float16 : StoredPixel::uint16;
    if (bits <= 32) return is_float ? StoredPixel::float32 : StoredPixel::uint32;
    return is_float ? StoredPixel::float64 : StoredPixel::uint64;
}

/// Returns the element's name after the names of its parent folders, without the name of the whole file.
std::string path_of(const pugi::xml_node& element) {
    std::string path = element.attribute("Name").value();
    for (pugi::xml_node around = element.parent(); around; around = around.parent())
        if (local_name(around) == "Element" && local_name(around.parent()) != "LMSDataContainerHeader")
            path = around.attribute("Name").value() + ("/" + path);
    return path;
}

Image image_of(const pugi::xml_node& element, const pugi::xml_node& described) {
    Image image;
    image.name = path_of(element);
    image.block = attribute(element.child("Memory"), "MemoryBlockID");
    const pugi::xml_node description = described.child("ImageDescription");
    for (const pugi::xml_node& one : description.child("Dimensions").children("DimensionDescription")) {
        const double nm = nm_of_unit(attribute(one, "Unit")).value_or(0);
        image.dimensions.push_back({number<int>(one, "DimID"), number<std::int64_t>(one, "NumberOfElements"),
                                    number<std::uint64_t>(one, "BytesInc"),
                                    nm * std::abs(number<double>(one, "Length"))});
    }
    for (const pugi::xml_node& one : description.child("Channels").children("ChannelDescription"))
        image.channels.push_back({stored_as(number<int>(one, "DataType", -1), number<int>(one, "Resolution")),
                                  number<std::uint64_t>(one, "BytesInc"), std::string(attribute(one, "LUTName"))});
    return image;
}

}  // namespace

Description parse_description(std::string_view xml, const std::string& file) {
    Description out;
    std::set<double> exposures_ms;  // of that image
    const auto finish = [&] {
        if (!out.images.empty() && exposures_ms.size() == 1) out.images.back().exposure_ms = *exposures_ms.begin();
        exposures_ms.clear();
    };
    for_each_element(xml, file, [&](const pugi::xml_node& element) {
        const std::string_view name = local_name(element);
        if (name == "LMSDataContainerHeader") out.version = number<int>(element, "Version", 2);
        if (name == "Image" && local_name(element.parent()) == "Data") {
            finish();
            out.images.push_back(image_of(element.parent().parent(), element));
        }
        if (out.images.empty()) return;
        if (name == "WideFieldChannelConfigurator" && out.images.back().camera.empty())
            out.images.back().camera = attribute(element, "CameraName");
        if (name == "WideFieldChannelInfo")
            if (const auto seconds = positive_number_of(trimmed(attribute(element, "ExposureTime"))))
                exposures_ms.insert(*seconds * 1e3);
    });
    finish();
    return out;
}

}  // namespace glint::lif
