// Headers of FITS files: 80-character cards in blocks of 2,880 bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/files/input_file.hpp"

namespace glint {

constexpr std::uint64_t fits_block_bytes = 2880;

/// A header and where its data are.
class FitsHeader {
  public:
    /// Reads the header at `offset`. Throws InputError if it has no end or is invalid.
    FitsHeader(const InputFile& file, std::uint64_t offset);

    /// Returns the value of a card without its quotes and padding; empty if there is none.
    std::string text(const std::string& keyword) const;
    std::string comment(const std::string& keyword) const;
    std::optional<double> number(const std::string& keyword) const;
    bool is_true(const std::string& keyword) const { return text(keyword) == "T"; }
    /// Returns a required whole number. Throws InputError if it is missing.
    std::int64_t integer(const std::string& keyword) const;
    /// Returns a whole number, or `otherwise` if there is no such card.
    std::int64_t integer(const std::string& keyword, std::int64_t otherwise) const;

    std::uint64_t data_offset() const { return data_offset_; }
    /// Returns the position of the next header, computed from this header's data. Throws InputError if the values are
    /// invalid.
    std::uint64_t next_header() const;

  private:
    struct Card {
        std::string value, comment;
    };
    void take(std::string_view card);
    bool read_block(const InputFile& file, std::uint64_t offset);

    std::string name_;
    std::map<std::string, Card> cards_;
    std::uint64_t data_offset_ = 0;
};

}  // namespace glint
