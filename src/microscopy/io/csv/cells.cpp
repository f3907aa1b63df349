// Formats rows as text in blocks, and writes the blocks in order.
// SPDX-License-Identifier: MIT
#include "io/csv/cells.hpp"

#include <cmath>
#include <utility>

#include "data/whole_numbers.hpp"
#include "io/csv/text.hpp"
#include "io/row_blocks.hpp"

namespace glint {
namespace {

/// Rows as text.
struct TextRows {
    std::string text;
    std::size_t not_finite = 0;  ///< values written as 0
};

class CellFile : public LocalizationWriter::Format {
  public:
    CellFile(const std::filesystem::path& path, std::vector<CellColumn> columns, const std::string& first_lines,
             const Target& target)
        : file_(path, target.if_exists), path_(path), warn_(target.warn), columns_(std::move(columns)) {
        std::string header;
        for (const CellColumn& column : columns_) {
            if (!header.empty()) header += ',';
            append_quoted(column.header, header);
        }
        file_.write(first_lines + header + '\n');
    }

    void append(const Localizations& piece) override {
        rows_in_order<TextRows>(
            piece.size(), [&](RowBlock block, TextRows& rows) { format(piece, block, rows); },
            [&](RowBlock, const TextRows& rows) { file_.write(rows.text), not_finite_ += rows.not_finite; });
    }

    void close() override {
        file_.commit();
        if (warn_ && not_finite_ > 0) warn_(text_of_zeros(path_, not_finite_));
    }

  private:
    void format(const Localizations& piece, RowBlock block, TextRows& rows) const {
        rows.text.clear(), rows.not_finite = 0;
        for (std::size_t row = block.first; row < block.end; ++row) {
            for (std::size_t k = 0; k < columns_.size(); ++k) {
                if (k > 0) rows.text += ',';
                append_cell(columns_[k], columns_[k].value(piece, row), rows);
            }
            rows.text += '\n';
        }
    }

    static void append_cell(const CellColumn& column, double value, TextRows& rows) {
        const bool is_finite = std::isfinite(value);
        switch (column.kind) {
            case CellColumn::measured: rows.not_finite += !is_finite; return append_number(rows.text, float(value));
            case CellColumn::whole:
                if (is_finite) return append_number(rows.text, whole<std::int64_t>(value));
                break;
            case CellColumn::copied: break;
        }
        append_real(rows.text, value);
    }

    AtomicFile file_;
    std::filesystem::path path_;
    Warn warn_;
    std::vector<CellColumn> columns_;
    std::size_t not_finite_ = 0;
};

}  // namespace

void append_quoted(const std::string& cell, std::string& to) {
    to += '"';
    for (const char c : cell) {
        if (c == '"') to += c;
        to += c == '\n' || c == '\r' ? ' ' : c;
    }
    to += '"';
}

bool survives_as_header(const std::string& name) {
    constexpr const char* blanks = " \t";
    return !name.empty() && name.find_first_of("\n\r") == name.npos && name.find('\0') == name.npos &&
           name.find_first_not_of(blanks) == 0 && name.find_last_not_of(blanks) == name.size() - 1;
}

CellColumn copied_column(const Localizations& like, const std::string& name) {
    return {name, like.extra.at(name).is_integer ? CellColumn::whole : CellColumn::copied,
            [name](const Localizations& table, std::size_t row) { return table.extra.at(name).values[row]; }};
}

FormatWriter write_cells(const std::filesystem::path& path, std::vector<CellColumn> columns,
                         const std::string& first_lines, const Target& target) {
    return std::make_unique<CellFile>(path, std::move(columns), first_lines, target);
}

}  // namespace glint
