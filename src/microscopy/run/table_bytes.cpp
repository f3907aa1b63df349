// Converts columns to bytes and back.
// SPDX-License-Identifier: MIT
#include "run/table_bytes.hpp"

#include <cstring>

namespace glint {
namespace {

template <class T>
void put(const std::vector<T>& column, std::vector<char>& bytes) {
    put_bytes(column.data(), column.size() * sizeof(T), bytes);
}

template <class T>
const char* take(const char* bytes, std::size_t rows, std::vector<T>& column) {
    column.resize(rows);
    if (rows > 0) std::memcpy(column.data(), bytes, rows * sizeof(T));
    return bytes + rows * sizeof(T);
}

}  // namespace

void put_bytes(const void* from, std::size_t count, std::vector<char>& bytes) {
    if (count == 0) return;
    const std::size_t before = bytes.size();
    bytes.resize(before + count);
    std::memcpy(bytes.data() + before, from, count);
}

TableLayout::TableLayout(const Localizations& like)
    : iterations_(!like.iterations.empty()), status_(!like.status.empty()) {
    for (const LocalizationColumn& column : localization_columns())
        if (!(like.*column.values).empty()) floats_.push_back(column);
    for (const auto& [name, column] : like.extra) extra_.emplace_back(name, column.is_integer);
}

std::size_t TableLayout::row_bytes() const {
    return sizeof(std::uint32_t) + floats_.size() * sizeof(float) + extra_.size() * sizeof(double) +
           (iterations_ ? sizeof(std::uint32_t) : 0) + (status_ ? sizeof(std::uint8_t) : 0);
}

std::string TableLayout::names() const {
    std::string names = "frame";
    for (const LocalizationColumn& column : floats_) names.append(" ").append(column.name);
    if (iterations_) names += " iterations";
    if (status_) names += " status";
    for (const auto& [name, is_integer] : extra_) names += " " + name;
    return names;
}

void TableLayout::write(const Localizations& table, std::vector<char>& bytes) const {
    if (table.size() == 0) return;
    put(table.frame, bytes);
    for (const LocalizationColumn& column : floats_) put(table.*column.values, bytes);
    if (iterations_) put(table.iterations, bytes);
    if (status_) put(table.status, bytes);
    for (const auto& [name, is_integer] : extra_) put(table.extra.at(name).values, bytes);
}

Localizations TableLayout::read(const char* bytes, std::size_t rows) const {
    Localizations table;
    bytes = take(bytes, rows, table.frame);
    for (const LocalizationColumn& column : floats_) bytes = take(bytes, rows, table.*column.values);
    if (iterations_) bytes = take(bytes, rows, table.iterations);
    if (status_) bytes = take(bytes, rows, table.status);
    for (const auto& [name, is_integer] : extra_) {
        ExtraColumn& column = table.extra[name];
        bytes = take(bytes, rows, column.values);
        column.is_integer = is_integer;
    }
    return table;
}

}  // namespace glint
