// Splits a block mapping into its lines.
// SPDX-License-Identifier: MIT
#include "io/picasso/lenient_yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "io/byte_order.hpp"
#include "io/header_bytes.hpp"

namespace glint {
namespace {

constexpr int deepest_mapping = 8;
constexpr std::string_view python_tag = "!!python/";

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

bool is_mapping(const std::string& text) {
    try {
        return YAML::Load(text).IsMap();
    } catch (const YAML::Exception&) {
        return false;
    }
}

/// NumPy's name of a type: "f8", with the byte order if it was dumped.
struct NumpyType {
    std::string code;
    bool big_endian = false;
};
using Anchors = std::map<std::string, NumpyType, std::less<>>;

/// Returns the word that begins at `at`, up to a blank, comma or bracket.
std::string_view word_at(std::string_view text, std::size_t at) {
    text.remove_prefix(std::min(at, text.size()));
    text = text.substr(std::min(text.find_first_not_of(" \r\n\t-[,"), text.size()));
    return text.substr(0, text.find_first_of(" \r\n\t,]"));
}

/// Returns the type that is dumped in the entry, or that the entry names by an alias.
std::optional<NumpyType> numpy_type(std::string_view entry, Anchors& anchors) {
    constexpr std::string_view made = "numpy.dtype", args = "args:", state = "state: !!python/tuple";
    const auto at = entry.find(made), args_at = entry.find(args, std::min(at, entry.size()));
    if (at == entry.npos || args_at == entry.npos) {
        const auto star = entry.find('*');
        const auto known = star == entry.npos ? anchors.end() : anchors.find(word_at(entry, star + 1));
        return known == anchors.end() ? std::nullopt : std::optional(known->second);
    }
    NumpyType type{std::string(word_at(entry, args_at + args.size())), false};
    if (const auto state_at = entry.find(state, args_at); state_at != entry.npos) {
        const std::string_view rest = entry.substr(state_at + state.size());
        const auto version = rest.find('3');
        type.big_endian = version != rest.npos && word_at(rest, version + 1).find('>') != rest.npos;
    }
    const auto ampersand = entry.rfind('&', at);
    if (ampersand != entry.npos) anchors[std::string(word_at(entry, ampersand + 1))] = type;
    return type;
}

std::string base64_bytes(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        const auto digit = digits.find(c);
        if (digit == digits.npos) continue;
        bits = bits << 6 | std::uint32_t(digit);
        if ((have += 6) >= 8) bytes += char(bits >> (have -= 8) & 0xff);
    }
    return bytes;
}

template <class T>
std::string number_text(std::string_view bytes, bool big_endian) {
    const T value = number_at<T>(bytes, 0, big_endian);
    if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(value)) return {};
    return fmt::format("{}", value);
}

/// Returns the number of a NumPy scalar; empty for other objects.
std::string numpy_scalar(std::string_view entry, Anchors& anchors) {
    const std::string_view first_line = entry.substr(0, entry.find('\n'));
    const auto type = numpy_type(entry, anchors);  // also for objects that are skipped: their type may have an anchor
    if (first_line.find("numpy") == first_line.npos || first_line.find(".scalar") == first_line.npos || !type)
        return {};
    constexpr std::string_view binary = "!!binary";
    const auto at = entry.rfind(binary);
    if (at == entry.npos) return {};
    const std::string bytes = base64_bytes(entry.substr(at + binary.size()));
    const std::string& code = type->code;
    if (code.size() != 2 || std::size_t(code[1] - '0') != bytes.size()) return {};
    const bool big = type->big_endian;
    if (code == "b1") return bytes[0] ? "true" : "false";
    if (code == "f4") return number_text<float>(bytes, big);
    if (code == "f8") return number_text<double>(bytes, big);
    if (code == "i1") return fmt::format("{}", int(number_at<std::int8_t>(bytes, 0)));
    if (code == "i2") return number_text<std::int16_t>(bytes, big);
    if (code == "i4") return number_text<std::int32_t>(bytes, big);
    if (code == "i8") return number_text<std::int64_t>(bytes, big);
    if (code == "u1") return fmt::format("{}", int(number_at<std::uint8_t>(bytes, 0)));
    if (code == "u2") return number_text<std::uint16_t>(bytes, big);
    if (code == "u4") return number_text<std::uint32_t>(bytes, big);
    if (code == "u8") return number_text<std::uint64_t>(bytes, big);
    return {};
}

/// Returns `key: !!python/unicode 'x'` without the tag.
std::string without_tags(std::string_view entry) {
    std::string out(entry);
    for (auto at = out.find(python_tag); at != out.npos; at = out.find(python_tag, at)) {
        auto end = std::min(out.find_first_of(" \r\n", at), out.size());
        if (end < out.size() && out[end] == ' ') ++end;
        out.erase(at, end - at);
    }
    return out;
}

std::string clean_mapping(std::string_view text, Anchors& anchors, int depth);

/// Returns an entry of a block mapping, from its key's line on; empty if it cannot be read.
std::string clean_entry(std::string_view entry, Anchors& anchors, int depth) {
    const auto colon = entry.find(':');
    if (colon == entry.npos) return {};
    const std::string_view key = entry.substr(0, colon + 1);
    if (const std::string number = numpy_scalar(entry.substr(colon + 1), anchors); !number.empty())
        return fmt::format("{} {}\n", key, number);
    const bool has_object = entry.find("!!python/object") != entry.npos || entry.find("!!python/name") != entry.npos;
    if (std::string plain = without_tags(entry); !has_object && is_mapping(plain)) return plain;
    const auto end_of_key = std::min(entry.find('\n'), entry.size() - 1) + 1;
    if (!trimmed(entry.substr(colon + 1, end_of_key - colon - 1)).empty() || depth >= deepest_mapping) return {};
    // A mapping within: its lines have the same indentation.
    const std::vector<std::string_view> lines = lines_of(entry.substr(end_of_key));
    if (lines.empty()) return {};
    const std::size_t indent = std::min(lines.front().find_first_not_of(' '), lines.front().size());
    if (indent == 0) return {};
    std::string inner, outer(entry.substr(0, end_of_key));
    for (const std::string_view line : lines) inner += line.substr(std::min(indent, line.find_first_not_of(' ')));
    const std::string cleaned = clean_mapping(inner, anchors, depth + 1);
    if (cleaned.empty()) return {};
    for (const std::string_view line : lines_of(cleaned)) outer += std::string(indent, ' ') + std::string(line);
    return outer;
}

std::string clean_mapping(std::string_view text, Anchors& anchors, int depth) {
    std::string out, entry;
    const auto finish = [&] {
        if (!trimmed(entry).empty()) out += clean_entry(entry, anchors, depth);
        entry.clear();
    };
    for (const std::string_view line : lines_of(text)) {
        const char first = line.front();
        const bool begins = first != ' ' && first != '-' && first != '\n' && first != '\r' && first != '#' &&
                            first != ']' && first != '}';
        if (begins) finish();
        entry += line;
    }
    finish();
    return out;
}

}  // namespace

std::string_view first_document(std::string_view yaml) {
    std::size_t at = 0;
    bool has_begun = false;
    for (const std::string_view line : lines_of(yaml)) {
        const bool marker = line.starts_with("---") || line.starts_with("...");
        if (marker && has_begun) break;
        has_begun |= !marker && !trimmed(line).empty() && !line.starts_with('#') && !line.starts_with('%');
        at += line.size();
    }
    return yaml.substr(0, at);
}

std::string without_python_objects(std::string_view yaml) {
    std::string text(yaml);
    if (text.find(python_tag) == text.npos && text.find("!!binary") == text.npos) return text;
    Anchors anchors;
    std::string cleaned = clean_mapping(yaml, anchors, 0);
    return !cleaned.empty() && is_mapping(cleaned) ? cleaned : text;
}

std::vector<std::string> keep_last_values(YAML::Node& mapping) {
    std::vector<std::pair<std::string, YAML::Node>> last;
    std::map<std::string, std::size_t> place;
    std::vector<std::string> repeated;
    for (const auto& entry : mapping) {
        if (!entry.first.IsScalar()) return {};
        const std::string& key = entry.first.Scalar();
        const auto [known, is_new] = place.emplace(key, last.size());
        if (is_new) {
            last.emplace_back(key, entry.second);
            continue;
        }
        YAML::Node& value = last[known->second].second;
        const bool same = value.IsScalar() && entry.second.IsScalar() && value.Scalar() == entry.second.Scalar();
        if (!same && std::find(repeated.begin(), repeated.end(), key) == repeated.end()) repeated.push_back(key);
        value.reset(entry.second);
    }
    if (last.size() == mapping.size()) return {};
    YAML::Node to(YAML::NodeType::Map);
    for (const auto& [key, value] : last) to.force_insert(key, value);
    mapping.reset(to);
    return repeated;
}

}  // namespace glint
