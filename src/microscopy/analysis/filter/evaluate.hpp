// Evaluates conditions, a column of numbers at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/filter/columns.hpp"
#include "analysis/filter/tree.hpp"
#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint::conditions {

/// Rows of a table, and how many come before them.
struct SomeRows {
    const Localizations& piece;
    std::size_t before;
};

/// A tree whose columns are found, and whose percentiles, modes and neighbours are known.
class Evaluator {
  public:
    /// `text` is the condition that the node is of. Throws OptionError for columns that there are not; Cancelled.
    Evaluator(const Node& node, std::string_view text, TablePieces& table, const StopFlag* stop);

    /// The piece's rows [first, first + to.size()): a number each, or 1 and 0.
    void run(const SomeRows& rows, std::size_t first, std::span<double> to) const;

  private:
    std::vector<double> all(TablePieces& table, const StopFlag* stop) const;

    Operation operation_;
    double number_ = 0;
    std::optional<Column> column_;
    std::vector<std::uint32_t> counts_;  ///< of neighbours
    std::vector<Evaluator> operands_;
};

/// Calls `work(first, count)` for pieces of `rows` in parallel, which do not depend on the number of threads. Throws Cancelled.
void for_pieces(std::size_t rows, const StopFlag* stop, const std::function<void(std::size_t, std::size_t)>& work);

/// For each row the number of other rows, of any frame, whose x and y are within `radius_px`. Rows whose position is not finite have
/// and are none. By cells of a grid, in parallel: O(n) times the rows in a few cells. Throws Cancelled after `stop`.
std::vector<std::uint32_t> count_neighbors(TablePieces& table, double radius_px, const StopFlag* stop);

/// Of the finite values, interpolated linearly between them as NumPy does by default; NaN if there are none.
double percentile(std::vector<double> values, double percent);

/// Where the density of the finite values is highest: the maximum of a Gaussian kernel estimate, whose width is Silverman's
/// 0.9 IQR / 1.34 n^(-1/5) (Silverman, Density Estimation, 1986, eq. 3.31). NaN if there are none.
double mode(std::vector<double> values);

}  // namespace glint::conditions
