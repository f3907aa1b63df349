// Reads the tree of a chunk of metadata: type, length of the name, name in UTF-16, value.
// SPDX-License-Identifier: MIT
#include "io/nd2/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "io/bytes_reader.hpp"
#include "io/unpack.hpp"

namespace glint::nd2 {
namespace {

constexpr std::size_t max_values = 1'000'000, max_inflated_bytes = 64 << 20;
constexpr int deepest = 64;

enum Type : std::uint8_t {
    boolean = 1,
    int32 = 2,
    uint32 = 3,
    int64 = 4,
    uint64 = 5,
    real = 6,
    pointer = 7,
    string = 8,
    byte_array = 9,
    level = 11,
    compressed = 76
};

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += char(code);
    } else if (code < 0x800) {
        text += char(0xc0 | code >> 6);
        text += char(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        text += char(0xe0 | code >> 12);
        text += char(0x80 | (code >> 6 & 0x3f));
        text += char(0x80 | (code & 0x3f));
    } else {
        text += char(0xf0 | code >> 18);
        text += char(0x80 | (code >> 12 & 0x3f));
        text += char(0x80 | (code >> 6 & 0x3f));
        text += char(0x80 | (code & 0x3f));
    }
}

/// Reads a text up to a zero or `most` units. Half of a surrogate pair becomes U+FFFD.
std::string utf16_text(BytesReader& bytes, std::size_t most) {
    std::string text;
    std::uint32_t high = 0;
    for (std::size_t k = 0; k < most && bytes.left() >= 2; ++k) {
        const std::uint32_t unit = bytes.number<std::uint16_t>();
        const bool is_low = unit >= 0xdc00 && unit < 0xe000;
        if (high && !is_low) append_utf8(text, 0xfffd);
        if (unit == 0) break;
        if (is_low) append_utf8(text, high ? 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00) : 0xfffd);
        high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
        if (!high && !is_low) append_utf8(text, unit);
    }
    return text;
}

class Parser {
  public:
    /// Reads `count` values, or all.
    void values(std::span<const std::byte> raw, std::size_t count, int depth, std::vector<Value>& out);

  private:
    void one(BytesReader& bytes, int depth, std::vector<Value>& out);
    void read_level(BytesReader& bytes, std::size_t begin, int depth, Value& value);

    std::size_t values_ = 0;
};

void Parser::values(std::span<const std::byte> raw, std::size_t count, int depth, std::vector<Value>& out) {
    if (depth > deepest) throw std::runtime_error(fmt::format("it is nested deeper than {} levels", deepest));
    BytesReader bytes(raw);
    for (std::size_t k = 0; k < count && bytes.left() >= 2; ++k) one(bytes, depth, out);
}

// A level's length counts from its type on, and a table of its values' places follows it.
void Parser::read_level(BytesReader& bytes, std::size_t begin, int depth, Value& value) {
    const std::size_t count = bytes.number<std::uint32_t>();
    const std::uint64_t length = bytes.number<std::uint64_t>();
    const std::size_t head = bytes.at() - begin;
    if (length < head) throw std::runtime_error(fmt::format("`{}` claims {} bytes", value.name, length));
    values(bytes.take(length - head), count, depth + 1, value.children);
    bytes.take(std::min<std::uint64_t>(std::uint64_t(count) * 8, bytes.left()));
}

void Parser::one(BytesReader& bytes, int depth, std::vector<Value>& out) {
    if (++values_ > max_values) throw std::runtime_error(fmt::format("it has more than {} values", max_values));
    const std::size_t begin = bytes.at();
    const auto type = bytes.number<std::uint8_t>();
    const std::size_t name_units = bytes.number<std::uint8_t>();
    if (type == compressed) {
        if (depth > 0) throw std::runtime_error("a part of it is compressed by itself");
        bytes.take(10);
        const auto unpacked = inflated(bytes.take(bytes.left()), max_inflated_bytes);
        return values(unpacked, max_values, depth + 1, out);
    }
    Value value;
    BytesReader name(bytes.take(name_units * 2));
    value.name = utf16_text(name, name_units);
    switch (type) {
        case boolean: value.number = bytes.number<std::uint8_t>() != 0; break;
        case int32: value.number = bytes.number<std::int32_t>(); break;
        case uint32: value.number = bytes.number<std::uint32_t>(); break;
        case int64: value.number = double(bytes.number<std::int64_t>()); break;
        case uint64:
        case pointer: value.number = double(bytes.number<std::uint64_t>()); break;
        case real: value.number = bytes.number<double>(); break;
        case string: value.text = utf16_text(bytes, bytes.left()); break;
        case byte_array: value.text = bytes.text(bytes.number<std::uint64_t>()); break;
        case level: read_level(bytes, begin, depth, value); break;
        default: throw std::runtime_error(fmt::format("`{}` has the unknown type {}", value.name, type));
    }
    out.push_back(std::move(value));
}

}  // namespace

const Value* Value::child(std::string_view child_name) const {
    for (const Value& one : children)
        if (one.name == child_name) return &one;
    return nullptr;
}

double Value::number_of(std::string_view child_name, double otherwise) const {
    const Value* found = child(child_name);
    return found ? found->number : otherwise;
}

std::string Value::text_of(std::string_view child_name) const {
    const Value* found = child(child_name);
    return found ? found->text : "";
}

const Value* follow(const Value* value, std::initializer_list<std::string_view> path) {
    for (const std::string_view name : path)
        if (value) value = value->child(name);
    return value;
}

Value parse_variant(std::span<const std::byte> bytes) {
    Value root;
    Parser().values(bytes, max_values, 0, root.children);
    return root;
}

}  // namespace glint::nd2
