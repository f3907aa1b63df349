// Walks through the elements of the metadata: the scaling, and the first acquisition's channels and detector.
// SPDX-License-Identifier: MIT
#include "io/czi/file.hpp"

#include <set>

#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/xml_text.hpp"

namespace glint::czi {
namespace {

constexpr double nm_per_m = 1e9, ms_per_ns = 1e-6;

}  // namespace

Facts parse_facts(std::string_view xml, const std::string& file) {
    Facts facts;
    std::string_view axis;
    std::set<double> exposures_ms;
    for_each_element(xml, file, [&](const pugi::xml_node& element) {
        const std::string_view name = local_name(element);
        const auto value = [&] { return positive_number_of(trimmed(element.child_value())); };
        const auto within = [&](const char* around) { return is_within(element, around); };
        if (name == "Distance" && within("Scaling")) axis = attribute(element, "Id");
        if (name == "Value" && within("Scaling") && axis == "X") facts.width_nm = value().value_or(0) * nm_per_m;
        if (name == "Value" && within("Scaling") && axis == "Y") facts.height_nm = value().value_or(0) * nm_per_m;
        if (!within("Information")) return;
        if (name == "SizeT") facts.times = number_of<std::int64_t>(trimmed(element.child_value())).value_or(0);
        if (name == "Channel" && within("Channels")) facts.channels.emplace_back(attribute(element, "Name"));
        if (name == "ExposureTime" && within("Channels") && value()) exposures_ms.insert(*value() * ms_per_ns);
        if (name == "Detector" && within("Instrument") && facts.camera.empty())
            facts.camera = attribute(element, "Name");
    });
    if (exposures_ms.size() == 1) facts.exposure_ms = *exposures_ms.begin();
    return facts;
}

}  // namespace glint::czi
