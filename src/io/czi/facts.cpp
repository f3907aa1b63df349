// Walks through the tags of the metadata: the scaling, and the first acquisition's channels and detector.
// SPDX-License-Identifier: MIT
#include "io/czi/facts.hpp"

#include <set>

#include "io/header_bytes.hpp"
#include "io/number_text.hpp"
#include "io/xml_tags.hpp"

namespace glint::czi {
namespace {

constexpr double nm_per_m = 1e9, ms_per_ns = 1e-6;

/// The elements that what is read lies in; a text may be cut off anywhere.
class Within {
  public:
    /// Of the tag at hand: `</Scaling` ends what `<Scaling` began.
    void look_at(const XmlTags& tags) {
        for (const std::string_view one : {"Scaling", "Information", "Channels", "Instrument"}) {
            if (tags.name() == one) inside_.insert(one);
            if (tags.tag().starts_with('/') && tags.tag().substr(1) == one) inside_.erase(one);
        }
    }
    bool operator()(std::string_view one) const { return inside_.contains(one); }

  private:
    std::set<std::string_view> inside_;
};

}  // namespace

Facts parse_facts(std::string_view xml) {
    Facts facts;
    Within within;
    std::string_view axis;
    std::set<double> exposures_ms;
    for (XmlTags tags(xml); tags.next();) {
        within.look_at(tags);
        const std::string_view name = tags.name(), tag = tags.tag();
        const auto value = [&] { return positive_number_of(trimmed(tags.text())); };
        if (within("Scaling") && name == "Distance") axis = xml_attribute(tag, "Id");
        if (within("Scaling") && name == "Value" && axis == "X") facts.width_nm = value().value_or(0) * nm_per_m;
        if (within("Scaling") && name == "Value" && axis == "Y") facts.height_nm = value().value_or(0) * nm_per_m;
        if (!within("Information")) continue;
        if (name == "SizeT") facts.times = number_of<std::int64_t>(trimmed(tags.text())).value_or(0);
        if (within("Channels") && name == "Channel") facts.channels.push_back(unescaped(xml_attribute(tag, "Name")));
        if (within("Channels") && name == "ExposureTime" && value()) exposures_ms.insert(*value() * ms_per_ns);
        if (within("Instrument") && name == "Detector" && facts.camera.empty())
            facts.camera = unescaped(xml_attribute(tag, "Name"));
    }
    if (exposures_ms.size() == 1) facts.exposure_ms = *exposures_ms.begin();
    return facts;
}

}  // namespace glint::czi
