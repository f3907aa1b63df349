// SPDX-License-Identifier: MIT
#include "workflow/number_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace glint {
namespace {

/// The fields of a line. Quotes around a field are removed, and doubled quotes within it are one (RFC 4180).
std::vector<std::string> split_fields(const std::string& line) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t k = 0; k < line.size(); ++k) {
        const char c = line[k];
        if (c == '"' && is_quoted && k + 1 < line.size() && line[k + 1] == '"')
            fields.back() += line[k++];
        else if (c == '"')
            is_quoted = !is_quoted;
        else if (c == ',' && !is_quoted)
            fields.emplace_back();
        else if (c != '\r')
            fields.back() += c;
    }
    return fields;
}

double to_number(const std::string& field) {
    char* end = nullptr;
    const double value = std::strtod(field.c_str(), &end);
    return end == field.c_str() ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace

NumberTable NumberTable::read(const std::filesystem::path& file) {
    NumberTable table;
    std::ifstream in(file, std::ios::binary);
    std::string line;
    if (!std::getline(in, line)) return table;
    table.names_ = split_fields(line);
    table.columns_.resize(table.names_.size());
    while (std::getline(in, line)) {
        std::vector<std::string> fields = split_fields(line);
        fields.resize(table.names_.size());
        for (std::size_t k = 0; k < fields.size(); ++k) table.columns_[k].push_back(to_number(fields[k]));
        table.first_texts_.push_back(fields[0]);
    }
    return table;
}

const std::vector<double>* NumberTable::find(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? nullptr : &columns_[std::size_t(found - names_.begin())];
}

std::size_t NumberTable::finite_rows(std::size_t column) const {
    return std::size_t(std::count_if(columns_[column].begin(), columns_[column].end(),
                                     [](double value) { return std::isfinite(value); }));
}

}  // namespace glint
