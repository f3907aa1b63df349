// Reads FITS headers card by card.
// SPDX-License-Identifier: MIT
#include "io/fits_header.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"

namespace glint {
namespace {

constexpr std::size_t card_bytes = 80, keyword_bytes = 8;
constexpr std::uint64_t max_blocks = 4096;  // 147,456 cards; real headers have a few blocks
constexpr std::int64_t max_axes = 999;      // as in the standard

/// Returns the text of a quoted value such as 'O''Neill  ' / comment, and sets where it ends.
std::string quoted(std::string_view text, std::size_t& end) {
    std::string value;
    for (end = 1; end < text.size(); ++end) {
        if (text[end] == '\'' && !text.substr(end + 1).starts_with('\'')) break;
        if (text[end] == '\'') ++end;
        value += text[end];
    }
    end = std::min(end + 1, text.size());
    return std::string(trimmed(value, " "));
}

[[noreturn]] void refuse_size(const std::string& name) {
    throw InputError(fmt::format("{}: its header claims more data than any file holds: it is damaged", name));
}

std::uint64_t product(std::uint64_t a, std::uint64_t b, const std::string& name) {
    std::uint64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out) || out > std::uint64_t(1) << 60) refuse_size(name);
    return out;
}

}  // namespace

FitsHeader::FitsHeader(const InputFile& file, std::uint64_t offset) : name_(file.name()) {
    for (std::uint64_t block = 0; block < max_blocks; ++block) {
        data_offset_ = offset + (block + 1) * fits_block_bytes;
        if (read_block(file, offset + block * fits_block_bytes)) return;
    }
    throw InputError(fmt::format("{}: its header has no end within {} cards: the file is damaged", name_,
                                 max_blocks * fits_block_bytes / card_bytes));
}

/// Reads a block; returns true if it contains the header's last card.
bool FitsHeader::read_block(const InputFile& file, std::uint64_t offset) {
    const std::string block = bytes_at(file, offset, fits_block_bytes);
    for (std::size_t at = 0; at + card_bytes <= block.size(); at += card_bytes) {
        const std::string_view card = std::string_view(block).substr(at, card_bytes);
        if (trimmed(card) == "END") return true;
        take(card);
    }
    if (block.size() == fits_block_bytes) return false;
    throw InputError(fmt::format("{}: breaks off within its header, at byte {}", name_, offset + block.size()));
}

// If a keyword occurs several times, the first card counts, so that no later one changes what was already read.
void FitsHeader::take(std::string_view card) {
    if (card.substr(keyword_bytes, 2) != "= ") return;  // COMMENT, HISTORY, CONTINUE
    const std::string_view rest = trimmed(card.substr(keyword_bytes + 2), " ");
    Card read;
    std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.starts_with('\''))
        read.value = quoted(rest, end);
    else
        read.value = trimmed(rest.substr(0, end), " ");
    const auto slash = rest.find('/', end);
    if (slash != rest.npos) read.comment = trimmed(rest.substr(slash + 1), " ");
    cards_.emplace(trimmed(card.substr(0, keyword_bytes), " "), std::move(read));
}

std::string FitsHeader::text(const std::string& keyword) const {
    const auto found = cards_.find(keyword);
    return found == cards_.end() ? "" : found->second.value;
}

std::string FitsHeader::comment(const std::string& keyword) const {
    const auto found = cards_.find(keyword);
    return found == cards_.end() ? "" : found->second.comment;
}

std::optional<double> FitsHeader::number(const std::string& keyword) const {
    std::string written = text(keyword);
    for (char& c : written)
        if (c == 'D' || c == 'd') c = 'E';  // Fortran's exponent
    return number_of<double>(written);
}

std::int64_t FitsHeader::integer(const std::string& keyword) const {
    const std::string written = text(keyword);
    if (written.empty()) throw InputError(fmt::format("{}: its header lacks {}: the file is damaged", name_, keyword));
    const auto value = number_of<std::int64_t>(written);
    if (!value) throw InputError(fmt::format("{}: {} = {} is no whole number", name_, keyword, written));
    return *value;
}

std::int64_t FitsHeader::integer(const std::string& keyword, std::int64_t otherwise) const {
    return text(keyword).empty() ? otherwise : integer(keyword);
}

std::uint64_t FitsHeader::next_header() const {
    const auto size = [&](std::int64_t value, const char* what) {
        if (value < 0) throw InputError(fmt::format("{}: claims {} = {}: the file is damaged", name_, what, value));
        return std::uint64_t(value);
    };
    const std::int64_t axes = integer("NAXIS"), bits = integer("BITPIX");
    if (axes < 0 || axes > max_axes || bits < -64 || bits > 64)
        throw InputError(fmt::format("{}: claims NAXIS = {} and BITPIX = {}: the file is damaged", name_, axes, bits));
    std::uint64_t values = axes == 0 ? 0 : 1;
    for (std::int64_t k = 1; k <= axes; ++k)
        values = product(values, size(integer(fmt::format("NAXIS{}", k)), "an axis"), name_);
    const std::uint64_t heap = size(integer("PCOUNT", 0), "PCOUNT"), groups = size(integer("GCOUNT", 1), "GCOUNT");
    if (heap > std::uint64_t(1) << 60) refuse_size(name_);
    const std::uint64_t bytes =
        product(product(values + heap, groups, name_), std::uint64_t(bits < 0 ? -bits : bits) / 8, name_);
    return data_offset_ + (bytes + fits_block_bytes - 1) / fits_block_bytes * fits_block_bytes;
}

}  // namespace glint
