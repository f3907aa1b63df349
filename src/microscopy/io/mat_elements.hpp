// A variable of a MATLAB file of version 5 to 7: structures, cells and numbers, elements inside elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/mat_arrays.hpp"
#include "io/packed_bytes.hpp"

namespace glint {

/// A matrix: its header, and where its fields, cells or numbers begin.
struct MatElement {
    int array_class = 0;
    bool is_complex = false;
    std::uint64_t count = 0;  ///< of its values, cells or structures
    std::vector<std::uint64_t> dimensions;
    std::vector<std::string> fields;
    std::uint64_t contents = 0;  ///< the first field or cell, or the numbers

    bool is_structure() const { return array_class == 2; }
    bool is_cell() const { return array_class == 1; }
    /// At most one dimension is not 1.
    bool is_line() const;
};

/// Real numbers of an array, the first dimension fastest.
struct MatNumbers {
    std::vector<std::uint64_t> dimensions;
    std::uint64_t count = 0;
    bool is_integer = false;
    std::function<void(std::uint64_t first, std::span<double> values)> read;  ///< throws InputError
};

/// Reads elements inside one variable. Each member throws InputError if the variable is damaged or truncated.
class MatElements {
  public:
    /// `array`: a variable of the file.
    MatElements(const std::filesystem::path& path, const MatArray& array, bool big_endian);

    /// Returns the variable itself.
    std::optional<MatElement> root() const { return matrix(begin_); }
    /// Returns the matrix that begins at `at`; nullopt for other and for empty elements.
    std::optional<MatElement> matrix(std::uint64_t at) const;
    /// Returns where the element after that at `at` begins.
    std::uint64_t next(std::uint64_t at) const { return place(at).next; }
    /// Returns the field of the `of`-th structure of an array; nullopt if there is none.
    std::optional<std::uint64_t> field(const MatElement& matrix, const std::string& name, std::uint64_t of = 0) const;
    std::optional<MatElement> structure(const MatElement& matrix, const std::string& name, std::uint64_t of = 0) const;
    /// Returns where the cells of a cell array begin.
    std::vector<std::uint64_t> cells(const MatElement& cells) const;
    /// Returns the real numbers of an array; nullopt for everything else. `name`: for messages.
    std::optional<MatNumbers> numbers(const std::string& name, std::uint64_t at) const;

  private:
    /// Where an element's bytes are.
    struct Place {
        std::uint32_t type = 0;
        std::uint64_t bytes = 0, first = 0, next = 0;
    };

    Place place(std::uint64_t at) const;
    void read_fields(MatElement& matrix) const;
    std::string text(std::uint64_t at, std::uint64_t bytes) const;

    std::filesystem::path path_;
    std::string variable_;
    std::shared_ptr<const ByteSource> bytes_;
    bool big_endian_;
    std::uint64_t begin_;
};

}  // namespace glint
