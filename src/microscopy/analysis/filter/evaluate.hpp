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

/// A piece of a table, and the number of rows before it.
struct SomeRows {
    const Localizations& piece;
    std::size_t before;
};

/// A condition that is ready to be evaluated. Its columns are found; percentiles, modes and neighbours are computed.
class Evaluator {
  public:
    /// `text` is the condition that contains `node`. Throws OptionError for unknown columns. Throws Cancelled after
    /// `stop`.
    Evaluator(const Node& node, std::string_view text, TablePieces& table, const StopFlag* stop);

    /// Evaluates the rows [first, first + to.size()) of the piece. A condition gives 1 or 0.
    void run(const SomeRows& rows, std::size_t first, std::span<double> to) const;

  private:
    std::vector<double> all(TablePieces& table, const StopFlag* stop) const;

    Operation operation_;
    double number_ = 0;
    std::optional<Column> column_;
    std::vector<std::uint32_t> counts_;  ///< neighbours of each row
    std::vector<Evaluator> operands_;
};

/// Calls `work(first, count)` for pieces of `rows`, in parallel. The pieces do not depend on the number of threads.
/// Throws Cancelled after `stop`.
void for_pieces(std::size_t rows, const StopFlag* stop, const std::function<void(std::size_t, std::size_t)>& work);

/// Returns for each row the number of other rows, of any frame, whose x and y are within `radius_px`. Rows whose
/// position is not finite have no neighbours and are none. Takes O(n) times the rows in a few cells of a grid, in
/// parallel. Throws Cancelled after `stop`.
std::vector<std::uint32_t> count_neighbors(TablePieces& table, double radius_px, const StopFlag* stop);

/// Returns a percentile of the finite values, interpolated linearly as by default in NumPy. NaN if there are none.
double percentile(std::vector<double> values, double percent);

/// Returns the place where the density of the finite values is highest: the maximum of a Gaussian kernel estimate. The
/// width of the kernel is Silverman's 0.9 IQR / 1.34 n^(-1/5) (Silverman, Density Estimation, 1986, eq. 3.31). NaN if
/// there are no values.
double mode(std::vector<double> values);

}  // namespace glint::conditions
