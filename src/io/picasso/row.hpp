// One row of Picasso's `/locs`: which columns a table gives it, in which order and of which types.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "io/hdf5/file.hpp"

namespace glint {

/// A packed little-endian record of the columns that `like` has.
class PicassoRow {
  public:
    /// `sees_all`: `like` has the values of all rows, so that integers may be as narrow as these allow.
    PicassoRow(const Localizations& like, bool sees_all);

    hid_t type() const { return type_; }
    bool has(const std::string& name) const;

    /// Columns that glint only copies and that are no integers.
    std::vector<std::string> real_extras() const;

    /// Rows [first, first + count) of `piece` as records. NaN and infinity become 0, but for real_extras(); returns how many did.
    std::size_t pack(const Localizations& piece, std::size_t first, std::size_t count,
                     std::vector<std::byte>& records) const;

    /// A column and where it comes from: exactly one of the last four.
    struct Field {
        std::string name;
        hid_t type = -1;
        std::size_t offset = 0;
        std::vector<float> Localizations::*floats = nullptr;
        std::vector<std::uint32_t> Localizations::*integers = nullptr;
        bool status = false, extra = false;
    };

  private:
    std::vector<Field> fields_;
    std::size_t bytes_ = 0;
    hdf5::Handle type_;
};

}  // namespace glint
