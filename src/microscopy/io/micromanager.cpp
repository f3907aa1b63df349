// Extracts facts from Micro-Manager's JSON, without guessing.
// SPDX-License-Identifier: MIT
#include "io/micromanager.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/units.hpp"

namespace glint {
namespace {

constexpr std::size_t largest_json_bytes = 16 << 20;  // when parsed, it needs ten times the memory

nlohmann::json object_in(const std::string& json) {
    if (json.size() > largest_json_bytes) return nullptr;
    auto parsed = nlohmann::json::parse(json, nullptr, false);
    return parsed.is_object() ? parsed : nullptr;
}

}  // namespace

MicroManagerFacts read_micromanager(const std::string& json) {
    const nlohmann::json object = object_in(json);
    const auto number = [&](const char* key) -> std::optional<double> {
        const auto found = object.find(key);
        const bool is_number = found != object.end() && found->is_number() && std::isfinite(found->get<double>());
        return is_number && found->get<double>() > 0 ? std::optional(found->get<double>()) : std::nullopt;
    };
    MicroManagerFacts facts;
    if (object.is_null()) return facts;
    if (const auto um = number("PixelSizeUm"); um && *um * 1e3 >= smallest_pixel_nm && *um * 1e3 <= largest_pixel_nm)
        facts.pixel_size_nm = std::round(*um * 1e7) / 1e4;
    facts.exposure_ms = number("Exposure-ms");
    if (!facts.exposure_ms) facts.exposure_ms = number("Exposure");
    for (const char* key : {"Core-Camera", "Camera"})
        if (const auto found = object.find(key); found != object.end() && found->is_string() && facts.camera.empty())
            facts.camera = found->get<std::string>();
    return facts;
}

std::vector<std::string> micromanager_channels(const std::string& json) {
    const nlohmann::json object = object_in(json);
    const auto names = object.is_null() ? object.end() : object.find("ChNames");
    std::vector<std::string> channels;
    if (object.is_null() || names == object.end() || !names->is_array()) return channels;
    for (const auto& name : *names) channels.push_back(name.is_string() ? name.get<std::string>() : "");
    return channels;
}

}  // namespace glint
