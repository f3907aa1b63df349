// Parses .npy headers: a Python dictionary of three known keys, and nothing else of Python.
// SPDX-License-Identifier: MIT
#include "io/npy/values.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::uint64_t largest_header_bytes = 1 << 16;

class Parser {
  public:
    Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}
    NpyHeader dictionary();

  private:
    [[noreturn]] void refuse(const char* why) const {
        throw InputError(fmt::format("{}: its .npy header {}: save it again with numpy.save", file_, why));
    }
    void skip_spaces() {
        while (!text_.empty() && std::string_view(" \t\n").find(text_.front()) != std::string_view::npos)
            text_.remove_prefix(1);
    }
    bool take(std::string_view token) {
        skip_spaces();
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }
    void expect(std::string_view token, const char* why) {
        if (!take(token)) refuse(why);
    }
    std::string quoted();
    std::uint64_t number();
    std::vector<std::uint64_t> tuple();
    void value_of(const std::string& key, NpyHeader& header);

    std::string_view text_;
    const std::string& file_;
};

std::string Parser::quoted() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') refuse("has a structured or unknown type (values of one plain type are read)");
    const auto end = text_.find(quote, 1);
    if (end == std::string_view::npos) refuse("breaks off");
    const std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
}

std::uint64_t Parser::number() {
    skip_spaces();
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("has no readable shape");
    text_.remove_prefix(std::size_t(rest - text_.data()));
    return value;
}

void Parser::value_of(const std::string& key, NpyHeader& header) {
    if (key == "descr") {
        const std::string type = quoted();
        if (type.size() < 2) refuse("has an unknown type");
        header.byte_order = type[0];
        header.type = type.substr(1);
    } else if (key == "fortran_order") {
        header.fortran_order = take("True");
        if (!header.fortran_order) expect("False", "says neither True nor False for fortran_order");
    } else if (key == "shape") {
        header.shape = tuple();
    } else {
        refuse("has an unknown key");
    }
}

std::vector<std::uint64_t> Parser::tuple() {
    std::vector<std::uint64_t> numbers;
    expect("(", "has no readable shape");
    while (!take(")")) {
        numbers.push_back(number());
        if (take(",")) continue;
        expect(")", "has no readable shape");
        break;
    }
    return numbers;
}

NpyHeader Parser::dictionary() {
    NpyHeader header;
    expect("{", "is no dictionary");
    while (!take("}")) {
        const std::string key = quoted();
        expect(":", "is no dictionary");
        value_of(key, header);
        if (take(",")) continue;
        expect("}", "is no dictionary");
        break;
    }
    return header;
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file) {
    const auto refuse = [&](const std::string& why) {
        throw InputError(fmt::format("{}: {}: save it again with numpy.save", file.name(), why));
    };
    std::array<unsigned char, 12> start{};
    const std::size_t found = file.read_at(0, reinterpret_cast<std::byte*>(start.data()), start.size());
    const int version = start[6];
    const std::size_t prefix = version == 1 ? 10 : 12;
    if (found < prefix || std::memcmp(start.data(), "\x93NUMPY", 6) != 0) refuse("is no .npy file");
    if (version < 1 || version > 3) refuse(fmt::format("is of .npy version {}, of which 1 to 3 are known", version));
    std::uint64_t length = start[8] | start[9] << 8;
    if (version > 1) length |= std::uint64_t(start[10]) << 16 | std::uint64_t(start[11]) << 24;
    if (length > largest_header_bytes) refuse(fmt::format("has a .npy header of {} bytes", length));
    std::string text(length, '\0');
    if (file.read_at(prefix, reinterpret_cast<std::byte*>(text.data()), length) < length) refuse("breaks off");
    NpyHeader header = Parser(text, file.name()).dictionary();
    header.data_offset = prefix + length;
    return header;
}

}  // namespace glint
