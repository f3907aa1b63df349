// Converts FitInfo to JSON and back, field by field.
// SPDX-License-Identifier: MIT
#include "cli/info_json.hpp"

namespace glint {

using Json = nlohmann::ordered_json;

static void to_json(Json& json, const GpuPart& part) {
    json = {{"name", part.name},
            {"uuid", part.uuid},
            {"fits", part.fits},
            {"seconds", part.seconds},
            {"share", part.share}};
}

static void from_json(const Json& json, GpuPart& part) {
    part = {json.at("name"), json.at("uuid"), json.at("fits"), json.at("seconds"), json.at("share")};
}

static void to_json(Json& json, const FitEvent& event) { json = {{"seconds", event.seconds}, {"what", event.what}}; }

static void from_json(const Json& json, FitEvent& event) { event = {json.at("seconds"), json.at("what")}; }

namespace cli {
namespace {

constexpr const char* summed_seconds = "thread_seconds";

void read(const Json& json, InfoGroup group, FitInfo& info) {
    for_each_info_field([&](const auto& field) {
        if (field.group == group && json.contains(field.json)) json.at(field.json).get_to(info.*field.value);
    });
}

}  // namespace

Json info_json(const FitInfo& info, InfoGroup group) {
    Json json = Json::object();
    for_each_info_field([&](const auto& field) {
        if (field.group == group) json[field.json] = info.*field.value;
    });
    return json;
}

Json fit_json(const FitInfo& info) {
    Json json = info_json(info, InfoGroup::fit);
    json[summed_seconds] = info.seconds;
    json.erase("seconds");
    json["gpu"] = info_json(info, InfoGroup::gpu);
    return json;
}

FitInfo fit_of(const Json& json) {
    FitInfo info;
    read(json, InfoGroup::fit, info);
    read(json.at("gpu"), InfoGroup::gpu, info);
    info.seconds = json.at(summed_seconds);
    return info;
}

}  // namespace cli
}  // namespace glint
