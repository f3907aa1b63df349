// Tables in pieces: with changed rows, or with some of their columns.
// SPDX-License-Identifier: MIT
#include "glint/table_pieces.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "data/table_facts.hpp"

namespace glint {

Localizations make_example(const TablePieces& table) {
    const Localizations& like = table.like();
    return like.size() > 0 ? select(like, std::array<std::size_t, 1>{}) : table.example();
}

ChangedTable::ChangedTable(TablePieces& table, Change change) : table_(table), change_(std::move(change)) {
    const Localizations& like = table.like();
    constexpr std::array<std::size_t, 1> first_row{};
    like_ = change_(select(like, std::span(first_row).first(std::min<std::size_t>(like.size(), 1))), 0);
}

void ChangedTable::for_each(const Visit& visit) {
    std::size_t before = 0;
    bool is_visited = false;
    Localizations empty;
    table_.for_each([&](const Localizations& piece) {
        Localizations changed = change_(piece, before);
        before += piece.size();
        if (changed.size() > 0) {
            is_visited = true;
            visit(changed);
        } else if (!is_visited) {
            empty = std::move(changed);
        }
    });
    if (!is_visited) visit(empty);
}

std::size_t row_bytes(const Localizations& like) {
    std::size_t bytes = sizeof(std::uint32_t);
    for (const LocalizationColumn& column : localization_columns())
        bytes += (like.*column.values).empty() ? 0 : sizeof(float);
    for (const auto& [name, column] : like.extra) bytes += column.values.empty() ? 0 : sizeof(double);
    return bytes + (like.iterations.empty() ? 0 : sizeof(std::uint32_t)) + (like.status.empty() ? 0 : 1);
}

Localizations all_pieces(TablePieces& table) {
    Localizations all = select(table.like(), {});
    table.for_each([&](const Localizations& piece) { append(all, piece); });
    return all;
}

Localizations with_columns(TablePieces& table, std::span<const std::string_view> names) {
    Localizations out = select(table.like(), {});
    out.extra.clear();
    const auto extend = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
    table.for_each([&](const Localizations& piece) {
        extend(out.frame, piece.frame);
        for (const LocalizationColumn& column : localization_columns())
            if (std::find(names.begin(), names.end(), column.name) != names.end())
                extend(out.*column.values, piece.*column.values);
        for (const auto& [name, column] : piece.extra) {
            const bool is_wanted = std::find(names.begin(), names.end(), name) != names.end();
            if (!is_wanted && name != mean_frame_column) continue;  // some analyses reject it
            ExtraColumn& to = out.extra[name];
            extend(to.values, column.values), to.is_integer = column.is_integer;
        }
    });
    return out;
}

}  // namespace glint
