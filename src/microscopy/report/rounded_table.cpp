// Rounds columns, and divides rows into pieces.
// SPDX-License-Identifier: MIT
#include "report/rounded_table.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/filter/columns.hpp"
#include "analysis/filter/tokens.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "report/base64.hpp"

namespace glint {
namespace {

constexpr std::size_t min_piece_rows = std::size_t(1) << 12, max_piece_rows = std::size_t(1) << 15;
constexpr std::size_t usual_pieces = 32, chunk_rows = std::size_t(1) << 16;
constexpr std::size_t max_cell_columns = 16;  // four vertex attributes of the page's picture
constexpr double max_px = double(1 << 30), max_position_steps = double(1 << 29);  // from 0 in either direction
/// Bits of a row: 12 bytes in the file, of which base64 takes a quarter. Small tables may have more.
constexpr double max_row_bits = 8 * 9;
constexpr std::size_t small_table_rows = std::size_t(1) << 18;

const LocalizationColumn* known_column(const std::string& name) {
    for (const LocalizationColumn& column : localization_columns())
        if (column.name == name) return &column;
    return nullptr;
}

bool has_column(const Localizations& table, const std::string& name) {
    if (const LocalizationColumn* known = known_column(name)) return !(table.*known->values).empty();
    return table.extra.contains(name);
}

template <class Work>
void for_chunks(std::size_t rows, const Work& work) {
    const std::size_t chunks = (rows + chunk_rows - 1) / chunk_rows;
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), chunks,
                          [&](std::size_t k) { work(k, k * chunk_rows, std::min(rows, (k + 1) * chunk_rows)); });
    });
}

/// Returns about 2^17 values of a column, evenly spaced.
std::vector<double> sampled(const Localizations& table, const conditions::Column& column) {
    constexpr std::size_t wanted = std::size_t(1) << 17, run = 64;
    const std::size_t rows = table.size(), step = std::max<std::size_t>(1, rows / wanted) * run;
    std::vector<double> values;
    for (std::size_t first = 0; first < rows; first += step) {
        const std::size_t count = std::min(run, rows - first), before = values.size();
        values.resize(before + count);
        column.copy(table, first, std::span(values).subspan(before));
    }
    return values;
}

double median_of_sample(std::vector<double> values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value) || value <= 0; });
    return values.empty() ? 0 : median(std::move(values));
}

/// Returns the largest power of two that is not above the value.
double power_of_two(double value) { return std::exp2(std::floor(std::log2(value))); }

double sampled_median(const Localizations& table, const std::string& name) {
    if (!has_column(table, name)) return 0;
    return median_of_sample(sampled(table, conditions::find_column(table, name, name, {})));
}

/// Returns the entropy of codes, in bits per row.
double entropy_bits(const std::vector<std::uint8_t>& codes, const std::vector<std::uint8_t>* minus) {
    std::array<double, 256> counts{};
    double sum = 0;
    const std::size_t step = std::max<std::size_t>(1, codes.size() >> 18);
    for (std::size_t k = 0; k < codes.size(); k += step, ++sum)
        ++counts[std::uint8_t(codes[k] - (minus ? (*minus)[k] : 0))];
    double bits = 0;
    for (const double count : counts)
        if (count > 0) bits += count / sum * std::log2(sum / count);
    return bits;
}

int bytes_for(std::uint32_t max) { return max < 1u << 8 ? 1 : max < 1u << 16 ? 2 : max < 1u << 24 ? 3 : 4; }

const char* text_of_kind(RoundedColumn::Kind kind) {
    const char* texts[] = {"frame", "position", "axial", "cells"};
    return texts[int(kind)];
}

}  // namespace

RoundedTable::RoundedTable(const Localizations& table) : table_(table) {
    choose_position_step();
    order_rows();
    add_positions();
    add_axial();
    add_known();
    add_others();
}

void RoundedTable::choose_position_step() {
    // Without precisions, 1/64 px is finer than that of most molecules.
    const double precision = std::min(sampled_median(table_, "lpx"), sampled_median(table_, "lpy"));
    step_px_ = power_of_two(precision > 0 ? std::clamp(precision / 4, 1e-6, 1.0) : 1.0 / 64);
    limit_px_ = std::min(max_px, step_px_ * max_position_steps);
}

void RoundedTable::order_rows() {
    const std::size_t all = table_.size();
    const std::size_t of_a_piece = std::clamp(all / usual_pieces, min_piece_rows, max_piece_rows);
    const std::size_t wanted = std::max<std::size_t>(1, (all + of_a_piece - 1) / of_a_piece);
    const auto is_stored = [&](std::size_t row) {
        return std::abs(table_.x_px[row]) < limit_px_ && std::abs(table_.y_px[row]) < limit_px_;
    };
    const auto piece_of = [&](std::size_t row) { return std::size_t(((row_hash(row) >> 32) * wanted) >> 32); };
    begin_.assign(wanted + 1, 0);
    for (std::size_t row = 0; row < all; ++row)
        if (is_stored(row)) ++begin_[piece_of(row) + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    order_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t row = 0; row < all; ++row)
        if (is_stored(row)) order_[next[piece_of(row)]++] = std::uint32_t(row);
    const auto by_frame = [&](std::uint32_t a, std::uint32_t b) { return table_.frame[a] < table_.frame[b]; };
    if (std::is_sorted(table_.frame.begin(), table_.frame.end())) return;
    for (std::size_t piece = 0; piece < wanted; ++piece)
        std::stable_sort(order_.begin() + std::ptrdiff_t(begin_[piece]),
                         order_.begin() + std::ptrdiff_t(begin_[piece + 1]), by_frame);
}

void RoundedTable::add_positions() {
    RoundedColumn frame;
    frame.name = frame.expression = "frame", frame.kind = RoundedColumn::Kind::frame, frame.bytes = 4;
    columns_.push_back(std::move(frame));
    const double step = step_px_;
    for (const bool is_x : {true, false}) {
        const std::vector<float>& values = is_x ? table_.x_px : table_.y_px;
        RoundedColumn column;
        column.name = column.expression = is_x ? "x" : "y";
        column.unit = "px", column.kind = RoundedColumn::Kind::position, column.step = step;
        column.codes.resize(values.size());
        const auto code_of = [step](float value) { return std::int64_t(std::floor(double(value) / step)); };
        std::int64_t first = order_.empty() ? 0 : code_of(values[order_.front()]), last = first;
        for (const std::uint32_t row : order_)
            first = std::min(first, code_of(values[row])), last = std::max(last, code_of(values[row]));
        column.first = first;
        column.bytes = bytes_for(std::uint32_t(last - first));
        for_chunks(values.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t row = begin; row < end; ++row)
                if (std::abs(values[row]) < limit_px_) column.codes[row] = std::uint32_t(code_of(values[row]) - first);
        });
        columns_.push_back(std::move(column));
    }
}

void RoundedTable::add_axial() {
    const std::vector<float>& z = table_.z_nm;
    if (z.empty()) return;
    std::vector<float> finite;
    for (const float value : z)
        if (std::isfinite(value)) finite.push_back(value);
    const double precision = sampled_median(table_, "lpz");
    RoundedColumn column;
    column.name = column.expression = "z", column.unit = "nm", column.kind = RoundedColumn::Kind::axial;
    column.step = power_of_two(precision > 0 ? precision / 4 : 1);
    // If not all fit, those around the median are stored: one wrong z must not make all others coarse.
    constexpr double codes = no_z - 2.0;
    if (finite.empty()) finite.push_back(0);
    const auto [lowest, highest] = std::minmax_element(finite.begin(), finite.end());
    double low = double(*lowest);
    if ((double(*highest) - low) / column.step >= codes) {
        const auto middle = finite.begin() + std::ptrdiff_t(finite.size() / 2);
        std::nth_element(finite.begin(), middle, finite.end());
        low = double(*middle) - 0.5 * codes * column.step;
    }
    column.first = std::int64_t(std::floor(low / column.step));
    column.bytes = 2;
    column.codes.resize(z.size());
    std::atomic<std::size_t> far = 0;
    for_chunks(z.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
            const double code = std::floor(double(z[row]) / column.step) - double(column.first);
            const bool has_code = code >= 0 && code < no_z;
            column.codes[row] = has_code ? std::uint32_t(code) : no_z;
            if (!has_code && std::isfinite(z[row])) ++far;
        }
    });
    far_z_ = far;
    columns_.push_back(std::move(column));
}

/// Returns the column's name with the unit nm, if it is in px and the pixel size is known.
std::string RoundedTable::converted(const std::string& column) const {
    const LocalizationColumn* known = known_column(column);
    return known && known->unit == "px" && table_.pixel_size_nm > 0 ? column + "_nm" : column;
}

void RoundedTable::add_cells(const std::string& name, const std::string& unit, const ValueCells& cells, int minus) {
    RoundedColumn column;
    column.name = name;
    column.expression = conditions::is_name(name) ? name : "`" + name + "`";
    column.unit = unit, column.cells = cells, column.minus = minus;
    const conditions::Column from = conditions::find_column(table_, name, name, {});
    const std::size_t rows = table_.size(), chunks = (rows + chunk_rows - 1) / chunk_rows;
    column.codes8.resize(rows);
    struct Sums {
        std::array<double, 256> sum{}, count{};
    };
    std::vector<Sums> sums(chunks);  // added up in order, so that the result does not depend on threads
    for_chunks(rows, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
        std::vector<double> values(end - begin);
        from.copy(table_, begin, values);
        for (std::size_t k = 0; k < values.size(); ++k) {
            const std::uint8_t code = cells.of(values[k]);
            column.codes8[begin + k] = code;
            sums[chunk].sum[code] += values[k], ++sums[chunk].count[code];
        }
    });
    for (std::size_t cell = 0; cell <= cells.edges.size(); ++cell) {
        double sum = 0, count = 0;
        for (const Sums& one : sums) sum += one.sum[cell], count += one.count[cell];
        column.typical.push_back(count > 0 ? std::strtod(fmt::format("{:.6g}", sum / count).c_str(), nullptr)
                                           : std::numeric_limits<double>::quiet_NaN());
    }
    columns_.push_back(std::move(column));
}

/// Adds one or two columns with the same cells, as values along x and y are similar.
void RoundedTable::add_pair(const std::string& x, const std::string& y, const std::string& unit) {
    std::vector<double> values;
    std::vector<std::string> names;
    for (const std::string& name : {x, y}) {
        if (!has_column(table_, name)) continue;
        names.push_back(converted(name));
        const std::vector<double> more = sampled(table_, conditions::find_column(table_, names.back(), name, {}));
        values.insert(values.end(), more.begin(), more.end());
    }
    const ValueCells cells = make_cells(std::move(values));
    for (std::size_t k = 0; k < names.size(); ++k)
        add_cells(names[k], unit, cells, k == 1 ? int(columns_.size()) - 1 : -1);
}

void RoundedTable::add_known() {
    const std::string length = table_.pixel_size_nm > 0 ? "nm" : "px";
    const auto add = [&](const std::string& name, const std::string& unit) {
        if (!has_column(table_, name)) return;
        add_cells(name, unit, make_cells(sampled(table_, conditions::find_column(table_, name, name, {}))));
    };
    add("photons", "photons");
    add("bg", "photons/px");
    add_pair("lpx", "lpy", length);
    add("lpz", "nm");
    add_pair("sx", "sy", length);
    if (!table_.p_value.empty()) add_cells("p_value", "", make_probability_cells());
}

/// Adds further columns while a row stays within its bytes: first those by which people select rows.
void RoundedTable::add_others() {
    std::vector<std::string> names = {"channel", "group", "cluster", "track", "p_single", "len", "n"};
    for (const auto& [name, column] : table_.extra)
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    double bits = 0;
    std::size_t of_cells = 0;
    for (const RoundedColumn& column : columns_) {
        if (column.kind == RoundedColumn::Kind::frame) bits += 1;
        if (column.kind == RoundedColumn::Kind::position || column.kind == RoundedColumn::Kind::axial)
            bits += 8.0 * column.bytes - (column.kind == RoundedColumn::Kind::axial ? 4 : 6);
        if (column.kind != RoundedColumn::Kind::cells) continue;
        ++of_cells;
        bits += entropy_bits(column.codes8, column.minus < 0 ? nullptr : &columns_[std::size_t(column.minus)].codes8);
    }
    for (const std::string& name : names) {
        const auto found = table_.extra.find(name);
        if (found == table_.extra.end()) continue;
        const bool is_channel = name == "channel" || name == "group";
        if (name.find('`') != name.npos || (of_cells >= max_cell_columns && !is_channel) ||
            found->second.values.empty()) {
            left_out_.push_back(name);
            continue;
        }
        ValueCells cells;
        if (found->second.is_integer) {
            const auto [low, high] = std::minmax_element(found->second.values.begin(), found->second.values.end());
            cells = make_integer_cells(*low, *high);
        } else {
            cells = make_cells(sampled(table_, conditions::find_column(table_, name, name, {})));
        }
        add_cells(name, "", cells);
        const double more = entropy_bits(columns_.back().codes8, nullptr);
        if (bits + more > max_row_bits && table_.size() > small_table_rows && !is_channel) {
            columns_.pop_back();
            left_out_.push_back(name);
            continue;
        }
        bits += more, ++of_cells;
    }
    for (const char* name :
         {"photons_unc", "bg_unc", "sx_unc", "sy_unc", "detection_score", "log_likelihood", "emitters"})
        if (has_column(table_, name)) left_out_.emplace_back(name);
    if (!table_.iterations.empty()) left_out_.emplace_back("iterations");
    if (!table_.status.empty()) left_out_.emplace_back("status");
}

std::vector<std::size_t> RoundedTable::indices_of(std::size_t piece) const {
    return {order_.begin() + std::ptrdiff_t(begin_[piece]), order_.begin() + std::ptrdiff_t(begin_[piece + 1])};
}

std::string RoundedTable::text_of(std::size_t piece) const {
    const std::span<const std::uint32_t> rows(order_.data() + begin_[piece], rows_of(piece));
    std::vector<std::uint8_t> plane(rows.size());
    std::vector<std::uint32_t> codes(rows.size());
    ColumnDeflater deflater;
    for (const RoundedColumn& column : columns_) {
        if (column.kind == RoundedColumn::Kind::cells) {
            for (std::size_t k = 0; k < rows.size(); ++k) plane[k] = column.codes8[rows[k]];
            if (column.minus >= 0) {
                const std::vector<std::uint8_t>& minus = columns_[std::size_t(column.minus)].codes8;
                for (std::size_t k = 0; k < rows.size(); ++k) plane[k] = std::uint8_t(plane[k] - minus[rows[k]]);
            }
            deflater.append(plane);
            continue;
        }
        if (column.kind == RoundedColumn::Kind::frame) {
            std::uint32_t before = 0;
            for (std::size_t k = 0; k < rows.size(); ++k) {
                const std::uint32_t frame = table_.frame[rows[k]];
                codes[k] = frame - before, before = frame;
            }
        } else {
            for (std::size_t k = 0; k < rows.size(); ++k) codes[k] = column.codes[rows[k]];
        }
        for (int byte = 0; byte < column.bytes; ++byte) {
            for (std::size_t k = 0; k < rows.size(); ++k) plane[k] = std::uint8_t(codes[k] >> (8 * byte));
            deflater.append(plane);
        }
    }
    return base64(deflater.take());
}

PageJson RoundedTable::columns_json() const {
    PageJson all = PageJson::array();
    for (const RoundedColumn& column : columns_) {
        PageJson one{{"name", column.name},
                     {"expression", column.expression},
                     {"unit", column.unit},
                     {"kind", text_of_kind(column.kind)},
                     {"bytes", column.bytes}};
        if (column.kind == RoundedColumn::Kind::position || column.kind == RoundedColumn::Kind::axial)
            one["first"] = column.first, one["step"] = column.step;
        if (column.kind == RoundedColumn::Kind::cells) {
            one["edges"] = column.cells.edges, one["typical"] = column.typical;
            one["log"] = column.cells.is_log, one["integer"] = column.cells.is_integer, one["minus"] = column.minus;
        }
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace glint
