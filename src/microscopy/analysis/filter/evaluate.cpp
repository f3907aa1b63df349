// The arithmetic of conditions.
// SPDX-License-Identifier: MIT
#include "analysis/filter/evaluate.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"

namespace glint::conditions {
namespace {

constexpr std::size_t piece_rows = 4096;

template <class F>
void each(std::span<double> left, std::span<const double> right, F f) {
    for (std::size_t k = 0; k < left.size(); ++k) left[k] = double(f(left[k], right[k]));
}
template <class F>
void each(std::span<double> values, F f) {
    for (double& value : values) value = double(f(value));
}

/// left = left operation right.
void combine(Operation operation, std::span<double> left, std::span<const double> right) {
    switch (operation) {
        case Operation::smallest: return each(left, right, [](double a, double b) { return b < a || b != b ? b : a; });
        case Operation::largest: return each(left, right, [](double a, double b) { return b > a || b != b ? b : a; });
        case Operation::plus: return each(left, right, [](double a, double b) { return a + b; });
        case Operation::minus: return each(left, right, [](double a, double b) { return a - b; });
        case Operation::times: return each(left, right, [](double a, double b) { return a * b; });
        case Operation::over: return each(left, right, [](double a, double b) { return a / b; });
        case Operation::power:
            return each(left, right, [](double a, double b) { return b == 2 ? a * a : std::pow(a, b); });
        case Operation::less: return each(left, right, [](double a, double b) { return a < b; });
        case Operation::less_equal: return each(left, right, [](double a, double b) { return a <= b; });
        case Operation::greater: return each(left, right, [](double a, double b) { return a > b; });
        case Operation::greater_equal: return each(left, right, [](double a, double b) { return a >= b; });
        case Operation::equal: return each(left, right, [](double a, double b) { return a == b; });
        case Operation::not_equal: return each(left, right, [](double a, double b) { return a < b || a > b; });
        case Operation::all_of: return each(left, right, [](double a, double b) { return a != 0 && b != 0; });
        case Operation::any_of: return each(left, right, [](double a, double b) { return a != 0 || b != 0; });
        default: return;
    }
}

void change(Operation operation, std::span<double> values) {
    switch (operation) {
        case Operation::negative: return each(values, [](double a) { return -a; });
        case Operation::absolute: return each(values, [](double a) { return std::abs(a); });
        case Operation::square_root: return each(values, [](double a) { return std::sqrt(a); });
        case Operation::logarithm: return each(values, [](double a) { return std::log(a); });
        case Operation::negation: return each(values, [](double a) { return a == 0; });
        default: return;
    }
}

}  // namespace

Evaluator::Evaluator(const Node& node, std::string_view text, TablePieces& table, const StopFlag* stop)
    : operation_(node.operation), number_(node.number) {
    for (const Node& operand : node.operands) operands_.emplace_back(operand, text, table, stop);
    if (operation_ == Operation::column) column_ = find_column(table.like(), node.name, text, node.place);
    if (operation_ == Operation::neighbors)
        counts_ = count_neighbors(table, in_pixels(node.number, node.name, table.like(), text, node.place), stop);
    if (operation_ != Operation::percentile && operation_ != Operation::mode) return;
    std::vector<double> values = operands_.front().all(table, stop);
    number_ = operation_ == Operation::mode ? mode(std::move(values)) : percentile(std::move(values), number_);
    operation_ = Operation::number;
    operands_.clear();
}

std::vector<double> Evaluator::all(TablePieces& table, const StopFlag* stop) const {
    std::vector<double> values;
    table.for_each([&](const Localizations& piece) {
        const SomeRows rows{piece, values.size()};
        values.resize(values.size() + piece.size());
        const std::span to = std::span(values).subspan(rows.before);
        for_pieces(piece.size(), stop,
                   [&](std::size_t first, std::size_t count) { run(rows, first, to.subspan(first, count)); });
    });
    return values;
}

void Evaluator::run(const SomeRows& rows, std::size_t first, std::span<double> to) const {
    if (operation_ == Operation::number) return std::fill(to.begin(), to.end(), number_);
    if (operation_ == Operation::column) return column_->copy(rows.piece, first, to);
    if (operation_ == Operation::neighbors)
        return void(std::copy_n(counts_.begin() + std::ptrdiff_t(rows.before + first), to.size(), to.begin()));
    operands_.front().run(rows, first, to);
    if (operands_.size() == 1) return change(operation_, to);
    std::vector<double> right(to.size());
    for (std::size_t k = 1; k < operands_.size(); ++k) {
        operands_[k].run(rows, first, right);
        combine(operation_, to, right);
    }
}

void for_pieces(std::size_t rows, const StopFlag* stop, const std::function<void(std::size_t, std::size_t)>& work) {
    const std::size_t pieces = (rows + piece_rows - 1) / piece_rows;
    in_own_arena([&] {
        tbb::parallel_for(std::size_t{0}, pieces, [&](std::size_t piece) {
            const std::size_t first = piece * piece_rows;
            if (!stop || !*stop) work(first, std::min(piece_rows, rows - first));
        });
    });
    if (stop && *stop) throw Cancelled("stopped while conditions were evaluated");
}

}  // namespace glint::conditions
