// The localizations as the page stores them: rounded columns in random pieces.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "report/cells.hpp"
#include "report/page_json.hpp"

namespace glint {

/// A number from 0 to 2^64 - 1 for each row, uniform and independent of its content.
constexpr std::uint64_t row_hash(std::uint64_t row) {
    std::uint64_t z = row + 0x9e3779b97f4a7c15u;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// A column of integer codes. The value is (first + code + 0.5) * step for positions, and that of a cell for others.
struct RoundedColumn {
    enum class Kind { frame, position, axial, cells };
    std::string name;        ///< as conditions name it, without quotes: "lpx_nm"
    std::string expression;  ///< as a condition contains it: a name with special characters is quoted
    std::string unit;
    Kind kind = Kind::cells;
    int bytes = 1;  ///< of a code
    /// Positions: code 0 is the interval from first * step; step is a power of two, so that all edges are exact.
    std::int64_t first = 0;
    double step = 1;
    ValueCells cells;
    std::vector<double> typical;  ///< the mean of the values in each cell; NaN if it is empty
    /// Number of the column whose code was subtracted before compression, modulo 256; -1: none.
    int minus = -1;
    std::vector<std::uint8_t> codes8;
    std::vector<std::uint32_t> codes;
};

/// A table in rounded columns. Its rows are divided at random into pieces, so that each piece is an unbiased sample of
/// the table. The rows of a piece are ordered by frame.
class RoundedTable {
  public:
    static constexpr std::uint32_t no_z = 65535;  ///< the code of a z that is NaN

    /// Uses only rows whose x and y are finite numbers within limit_px(). The table must outlive this object.
    explicit RoundedTable(const Localizations& table);

    const std::vector<RoundedColumn>& columns() const { return columns_; }
    std::size_t rows() const { return order_.size(); }
    std::size_t pieces() const { return begin_.size() - 1; }
    std::size_t rows_of(std::size_t piece) const { return begin_[piece + 1] - begin_[piece]; }
    /// Returns the rows of a piece, as indices of the table.
    std::vector<std::size_t> indices_of(std::size_t piece) const;
    /// Returns a piece as base64 of a zlib stream: one column after another, of each its lowest byte first. Frames are
    /// differences to the row before.
    std::string text_of(std::size_t piece) const;
    PageJson columns_json() const;
    /// Returns the distance from 0, px, up to which positions are stored with the table's precision: 2^29 steps.
    double limit_px() const { return limit_px_; }
    /// Returns the number of rows whose z is too far from the others: it is stored as none.
    std::size_t far_z() const { return far_z_; }
    const std::vector<std::string>& left_out() const { return left_out_; }  ///< columns of the table, by name

  private:
    void choose_position_step();
    void order_rows();
    void add_positions();
    void add_axial();
    void add_cells(const std::string& column, const std::string& unit, const ValueCells& cells, int minus = -1);
    void add_pair(const std::string& x, const std::string& y, const std::string& unit);
    void add_known();
    void add_others();
    std::string converted(const std::string& column) const;

    const Localizations& table_;
    std::vector<std::uint32_t> order_;  ///< rows by piece
    std::vector<std::size_t> begin_;    ///< of each piece in `order_`
    std::vector<RoundedColumn> columns_;
    std::vector<std::string> left_out_;
    double step_px_ = 1, limit_px_ = 0;
    std::size_t far_z_ = 0;
};

}  // namespace glint
