// One JSON object on a line, which YAML reads too.
// SPDX-License-Identifier: MIT
#include "pipeline/settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/localization_io.hpp"

namespace glint {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view key = "Settings: ";

bool is_setting(const std::string& name) { return name != "glint version" && name != "instruction set"; }

}  // namespace

std::string settings_text(const Fingerprint& fingerprint) {
    Json settings;
    for (const auto& [name, value] : fingerprint)
        if (is_setting(name)) settings[name] = value;
    return std::string(key) + settings.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Fingerprint> settings_of(const std::filesystem::path& file) {
    const std::vector<std::string> history = read_history(file);
    for (auto step = history.rbegin(); step != history.rend(); ++step) {
        const std::size_t begin = step->starts_with(key) ? 0 : step->find("\n" + std::string(key));
        if (begin == step->npos) continue;
        const std::size_t value = step->find(key, begin) + key.size();
        const Json settings = Json::parse(step->substr(value, step->find('\n', value) - value), nullptr, false);
        if (!settings.is_object()) return {};
        Fingerprint fingerprint;
        for (const auto& [name, text] : settings.items())
            if (text.is_string()) fingerprint.emplace_back(name, text);
        return fingerprint;
    }
    return {};
}

}  // namespace glint
