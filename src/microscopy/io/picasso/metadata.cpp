// Reads Picasso's metadata as YAML and JSON, and extracts facts about the movie.
// SPDX-License-Identifier: MIT
#include "io/picasso/metadata.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "glint/units.hpp"
#include "io/picasso/lenient_yaml.hpp"

namespace glint {
namespace {

using Json = nlohmann::ordered_json;

/// Limits the written size: aliases can make a small YAML file huge, or endless, when written out.
struct Budget {
    int nodes = 200'000;
    std::int64_t bytes = 16 << 20;
};
/// Writing JSON is recursive.
constexpr std::size_t deepest_nesting = 64;
/// Keys of an order-preserving JSON object are searched linearly.
constexpr std::size_t max_keys = 10'000;
constexpr std::size_t max_steps = 1000;  ///< reading one takes about 0.1 ms

std::optional<YAML::Node> parsed(const std::string& text, std::vector<std::string>* repeated = nullptr) {
    if (text.empty()) return {};
    try {
        YAML::Node node = YAML::Load(text);
        if (!node.IsMap()) return {};
        std::vector<std::string> keys = keep_last_values(node);
        if (repeated) repeated->insert(repeated->end(), keys.begin(), keys.end());
        return node;
    } catch (const YAML::Exception&) {
    }
    return {};
}

template <class T>
std::optional<T> whole_number(const std::string& text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

Json scalar_to_json(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;  // quoted
    if (text == "true" || text == "True") return true;
    if (text == "false" || text == "False") return false;
    if (text == "~" || text == "null" || text.empty()) return nullptr;
    if (const auto integer = whole_number<std::int64_t>(text)) return *integer;
    if (const auto number = whole_number<double>(text); number && std::isfinite(*number)) return *number;
    return text;
}

Json to_json(const YAML::Node& node, Budget& budget, std::size_t depth = 0) {
    if (--budget.nodes < 0 || depth > deepest_nesting) return nullptr;
    if (node.IsScalar())
        return (budget.bytes -= std::int64_t(node.Scalar().size())) < 0 ? Json() : scalar_to_json(node);
    if (node.IsSequence()) {
        Json list = Json::array();
        for (auto item = node.begin(); item != node.end() && budget.nodes >= 0; ++item)
            list.push_back(to_json(*item, budget, depth + 1));
        return list;
    }
    if (!node.IsMap()) return nullptr;
    Json map = Json::object();
    for (auto item = node.begin(); item != node.end() && budget.nodes >= 0 && map.size() < max_keys; ++item)
        if (item->first.IsScalar() && (budget.bytes -= std::int64_t(item->first.Scalar().size())) >= 0)
            map[item->first.Scalar()] = to_json(item->second, budget, depth + 1);
    return map;
}

/// Returns true if JSON is not nested too deeply and its objects are not too long: one pass over the bytes before
/// parsing.
bool is_manageable(std::string_view json) {
    std::vector<std::size_t> keys;  // number of keys of each enclosing object or list
    bool quoted = false;
    for (std::size_t k = 0; k < json.size(); ++k) {
        const char c = json[k];
        if (quoted && c == '\\') ++k;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == '{' || c == '[') keys.push_back(0);
        if ((c == '}' || c == ']') && !keys.empty()) keys.pop_back();
        if (keys.size() > deepest_nesting || (c == ':' && !keys.empty() && ++keys.back() > max_keys)) return false;
    }
    return true;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// YAML includes JSON: a block mapping whose keys and values are JSON needs no other quoting rules.
std::string step_from_json(const Json& mapping) {
    std::string out;
    for (const auto& [key, value] : mapping.items()) {
        const bool plain = !key.empty() && std::isalpha(static_cast<unsigned char>(key[0])) &&
                           key.find_first_not_of(
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ ."
                               "()-") == std::string::npos &&
                           key.back() != ' ';
        out += fmt::format("{}: {}\n", plain ? key : dump(key), dump(value));
    }
    return out;
}

std::string ending_in_newline(std::string text) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text;
}

double number_at(const YAML::Node& step, const char* key) {
    const YAML::Node value = step[key];
    if (!value || !value.IsScalar()) return 0;
    const auto number = whole_number<double>(value.Scalar());
    return number && std::isfinite(*number) && *number > 0 ? *number : 0;
}

/// YAML allows no DEL, no C1 controls, no U+FFFE and U+FFFF, which file names can hold: they become escapes in strings.
std::string without_forbidden_characters(const std::string& text) {
    std::string out;
    const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0; };
    for (std::size_t k = 0; k < text.size(); ++k)
        if (byte(k) == 0x7f)
            out += "\\u007f";
        else if (byte(k) == 0xc2 && byte(k + 1) < 0xa0)
            out += fmt::format("\\u{:04x}", byte(++k));
        else if (byte(k) == 0xef && byte(k + 1) == 0xbf && byte(k + 2) >= 0xbe)
            out += fmt::format("\\uff{:02x}", byte(k += 2) + 0x40);
        else
            out += text[k];
    return out;
}

template <class T>
void set_if_given(T& to, double number, double limit) {
    if (number > 0 && number <= limit && double(T(number)) == number) to = T(number);  // no fraction of a pixel
}

std::string step_of(const MovieFacts& facts) {
    std::string out = "Generated by: glint\n";
    if (facts.width > 0) out += fmt::format("Width: {}\n", facts.width);
    if (facts.height > 0) out += fmt::format("Height: {}\n", facts.height);
    if (facts.frames > 0) out += fmt::format("Frames: {}\n", facts.frames);
    if (facts.pixel_size_nm > 0) out += fmt::format("Pixelsize: {}\n", facts.pixel_size_nm);
    return out;
}

/// Returns true if `fails` is true for any fact.
template <class Fails>
bool any_fact(const MovieFacts& said, const MovieFacts& facts, Fails fails) {
    return fails(double(said.width), double(facts.width)) || fails(double(said.height), double(facts.height)) ||
           fails(double(said.frames), double(facts.frames)) || fails(said.pixel_size_nm, facts.pixel_size_nm);
}

}  // namespace

Steps steps_from_yaml(const std::string& text, int& bad) {
    Steps steps;
    std::string current;
    const auto finish = [&] {
        if (current.find_first_not_of(" \t\r\n") != std::string::npos) {
            if (std::string step; steps.size() < max_steps && parsed(step = without_python_objects(current)))
                steps.push_back(ending_in_newline(step));
            else
                ++bad;
        }
        current.clear();
    };
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.find('\n', begin);
        end = end == std::string::npos ? text.size() : end + 1;
        const std::string line = text.substr(begin, end - begin);
        const bool marker = line.rfind("---", 0) == 0 || line.rfind("...", 0) == 0;
        if (marker)
            finish();
        else
            current += line;
        begin = end;
    }
    finish();
    return steps;
}

Steps steps_from_json(const std::string& text, int& bad) {
    Steps steps;
    const Json list = is_manageable(text) ? Json::parse(text, nullptr, false) : Json();
    if (!list.is_array()) {
        ++bad;
        return steps;
    }
    for (const Json& step : list) {
        const std::string yaml = step.is_object() && steps.size() < max_steps ? step_from_json(step) : "";
        if (parsed(yaml))
            steps.push_back(yaml);
        else
            ++bad;
    }
    return steps;
}

Steps understood_steps(const std::string& where, const std::string& text, Steps (*read)(const std::string&, int&),
                       const Warn& warn) {
    int bad = 0;
    Steps steps = text.size() > largest_metadata_bytes ? Steps() : read(text, bad);
    if (text.size() > largest_metadata_bytes && warn)
        warn(fmt::format("{} has more than {} bytes, too many for metadata, and is not read", where,
                         largest_metadata_bytes));
    std::vector<std::string> repeated;
    for (const std::string& step : steps) parsed(step, &repeated);
    if (!repeated.empty() && warn)
        warn(fmt::format("{} has {} several times with different values: the last one counts, as in Picasso", where,
                         fmt::join(repeated, ", ")));
    if (bad > 0 && warn)
        warn(fmt::format("{}: {} part(s) are no mapping, nested beyond reason or too many, and are left out", where,
                         bad));
    return steps;
}

MovieFacts facts_in(const Steps& steps) {
    MovieFacts facts;
    double in_camera = 0;
    for (const std::string& step : steps) {
        const auto node = parsed(step);
        if (!node) continue;
        set_if_given(facts.width, number_at(*node, "Width"), 1e6);
        set_if_given(facts.height, number_at(*node, "Height"), 1e6);
        set_if_given(facts.frames, number_at(*node, "Frames"), 4294967296.0);
        // Picasso's format, its simulation's format, and an older format of the simulation.
        const YAML::Node camera = (*node)["Camera"];
        set_if_given(in_camera, camera && camera.IsMap() ? number_at(camera, "Pixelsize") : 0, largest_pixel_nm);
        set_if_given(in_camera, number_at(*node, "Camera.Pixelsize"), largest_pixel_nm);
        set_if_given(facts.pixel_size_nm, number_at(*node, "Pixelsize"), largest_pixel_nm);
    }
    if (facts.pixel_size_nm == 0) facts.pixel_size_nm = in_camera;
    return facts;
}

Steps with_facts(const Steps& history, const MovieFacts& facts) {
    Steps steps;
    for (const std::string& step : history) {
        if (parsed(step))
            steps.push_back(ending_in_newline(step));
        else
            steps.push_back(fmt::format("Note: {}\n", dump(Json(step))));  // not a mapping: kept as a harmless note
    }
    const MovieFacts said = facts_in(steps);
    const bool missing = any_fact(said, facts, [](double a, double b) { return b > 0 && a == 0; });
    const bool contradicted = any_fact(said, facts, [](double a, double b) { return b > 0 && a > 0 && a != b; });
    if (missing || contradicted || steps.empty())
        steps.insert(contradicted ? steps.end() : steps.begin(), step_of(facts));
    return steps;
}

std::string to_yaml(const Steps& steps) {
    std::string out;
    for (const std::string& step : steps) out += (out.empty() ? "" : "---\n") + step;
    return without_forbidden_characters(out);
}

std::string to_json(const Steps& steps) {
    Json list = Json::array();
    Budget budget;
    for (const std::string& step : steps)
        if (const auto node = parsed(step)) list.push_back(to_json(*node, budget));
    return dump(list);
}

}  // namespace glint
