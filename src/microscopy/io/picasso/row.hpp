// One row of Picasso's `/locs`: the columns for a table, their order and types.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "io/hdf5/file.hpp"
#include "io/row_blocks.hpp"

namespace glint {

/// A packed little-endian record of the columns that `like` has.
class PicassoRow {
  public:
    /// `sees_all`: `like` has the values of all rows, so that integers may be as narrow as these values allow.
    PicassoRow(const Localizations& like, bool sees_all);

    hid_t type() const { return type_; }
    bool has(const std::string& name) const;

    /// Returns the columns that glint only copies and that are not integers.
    std::vector<std::string> real_extras() const;

    /// Packs rows of `piece` as records. Calls nothing of HDF5, so that threads may call it. NaN and infinity
    /// become 0, except for real_extras(). Returns how many did.
    std::size_t pack(const Localizations& piece, RowBlock rows, std::vector<std::byte>& records) const;

    enum class Number { u8, i32, u32, i64, f32, f64 };
    /// A column and its source: exactly one of the last four.
    struct Field {
        std::string name;
        Number number = Number::f32;  ///< in the record
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
