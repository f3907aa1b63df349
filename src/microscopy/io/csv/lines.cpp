// Buffered lines, quoted cells, numbers.
// SPDX-License-Identifier: MIT
#include "io/csv/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"

namespace glint {
namespace {

constexpr std::size_t longest_line = std::size_t(1) << 20, min_chunk_bytes = 4096,
                      max_chunk_bytes = std::size_t(1) << 22;

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Returns the cell that starts with the quote at `at`, and moves `at` behind the cell.
std::string quoted_cell(std::string_view line, std::size_t& at, char separator) {
    std::string cell;
    for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
            if (at + 1 >= line.size() || line[at + 1] != '"') break;
            ++at;
        }
        cell += line[at];
    }
    at = std::min(line.find(separator, at), line.size());
    return cell;
}

void split_at_blanks(std::string_view line, std::vector<std::string_view>& cells) {
    constexpr std::string_view blanks = " \t";
    for (std::size_t at = line.find_first_not_of(blanks); at < line.size(); at = line.find_first_not_of(blanks, at)) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        cells.push_back(line.substr(at, end - at));
        at = end;
    }
}

}  // namespace

CsvLines::CsvLines(const std::filesystem::path& path) : name_(path.string()), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw_cannot_open(name_, errno);
    std::error_code none;
    bytes_ = std::filesystem::file_size(path, none);
    if (none) bytes_ = 0;
    restart();
    if (buffer_.find('\n') == buffer_.npos && buffer_.find('\r') != buffer_.npos) newline_ = '\r';
}

void CsvLines::restart() {
    if (std::fseek(file_.get(), 0, SEEK_SET) != 0)
        throw InputError(fmt::format("{} cannot be read from its beginning: {}", name_, std::strerror(errno)));
    buffer_.clear();
    begin_ = number_ = 0, taken_ = read_ = 0;
    terminated_ = true, at_end_ = false;
    refill();
}

bool CsvLines::refill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t kept = buffer_.size();
    // Reserves no more than the rest of the file, because reserved bytes are zeroed first.
    const std::uintmax_t left = bytes_ > read_ ? bytes_ - read_ : 0;
    const auto most = std::size_t(std::clamp<std::uintmax_t>(left, min_chunk_bytes, max_chunk_bytes));
    buffer_.resize(kept + most);
    const std::size_t got = std::fread(buffer_.data() + kept, 1, most, file_.get());
    if (got == 0 && std::ferror(file_.get()))
        throw InputError(fmt::format("{} cannot be read: {}", name_, std::strerror(errno)));
    buffer_.resize(kept + got);
    read_ += got;
    at_end_ = got == 0;
    return !at_end_;
}

void CsvLines::require_short(std::size_t bytes) const {
    if (bytes > longest_line)
        throw InputError(fmt::format("{}: line {} is longer than {} bytes: this is no table of localizations", name_,
                                     number_ + 1, longest_line));
}

bool CsvLines::next(std::string_view& line) {
    std::size_t searched = begin_;
    std::size_t end = buffer_.find(newline_, searched);
    while (end == std::string::npos && !at_end_) {
        require_short(buffer_.size() - begin_);
        searched = buffer_.size() - begin_;
        refill();
        end = buffer_.find(newline_, searched);
    }
    return next_in_buffer(line);
}

void CsvLines::next(std::vector<std::string_view>& lines, std::size_t most) {
    lines.clear();
    std::string_view line;  // reading on may move the buffer, so only the first line may do so
    while (lines.size() < most && (lines.empty() ? next(line) : next_in_buffer(line))) lines.push_back(line);
}

/// Gets the next line, if it is completely in the buffer.
bool CsvLines::next_in_buffer(std::string_view& line) {
    std::size_t end = buffer_.find(newline_, begin_);
    if (begin_ >= buffer_.size() || (end == std::string::npos && !at_end_)) return false;
    terminated_ = end != std::string::npos;
    if (!terminated_) end = buffer_.size();
    require_short(end - begin_);
    line = std::string_view(buffer_).substr(begin_, end - begin_);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    taken_ += end + terminated_ - begin_;
    begin_ = end + terminated_;
    ++number_;
    return true;
}

char separator_of(std::string_view header) {
    std::size_t counts[3] = {};
    constexpr std::string_view separators = ",;\t";
    bool in_quotes = false;
    for (const char c : header) {
        if (c == '"') in_quotes = !in_quotes;
        if (const std::size_t k = separators.find(c); !in_quotes && k != separators.npos) ++counts[k];
    }
    return separators[std::size_t(std::max_element(counts, counts + 3) - counts)];
}

void split_csv(std::string_view line, std::vector<std::string_view>& cells, std::vector<std::string>& scratch,
               char separator) {
    cells.clear();
    scratch.clear();
    if (separator == ' ') return split_at_blanks(line, cells);
    if (line.find('"') == std::string_view::npos) {
        for (std::size_t at = 0; at <= line.size();) {
            const std::size_t end = std::min(line.find(separator, at), line.size());
            cells.push_back(trimmed(line.substr(at, end - at)));
            at = end + 1;
        }
        return;
    }
    for (std::size_t at = 0; at <= line.size(); ++at) {
        while (at < line.size() && (line[at] == ' ' || line[at] == '\t') && line[at] != separator) ++at;
        if (at < line.size() && line[at] == '"') {
            scratch.push_back(quoted_cell(line, at, separator));
        } else {
            const std::size_t end = std::min(line.find(separator, at), line.size());
            scratch.emplace_back(trimmed(line.substr(at, end - at)));
            at = end;
        }
    }
    for (const std::string& cell : scratch) cells.push_back(trimmed(cell));
}

bool parse_cell(std::string_view cell, double& value) {
    if (cell.empty()) {
        value = std::numeric_limits<double>::quiet_NaN();
        return true;
    }
    if (cell.front() == '+') cell.remove_prefix(1);
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc::result_out_of_range) value = std::numeric_limits<double>::infinity();
    return (error == std::errc() || error == std::errc::result_out_of_range) && end == cell.data() + cell.size();
}

bool parse_cell_with_comma(std::string_view cell, double& value) {
    constexpr std::size_t longest = 64;
    const std::size_t comma = cell.find(',');
    if (comma == cell.npos || cell.size() > longest) return parse_cell(cell, value);
    char copy[longest];
    std::copy(cell.begin(), cell.end(), copy);
    copy[comma] = '.';
    return parse_cell({copy, cell.size()}, value);
}

bool is_whole_number(std::string_view cell) {
    if (!cell.empty() && (cell.front() == '+' || cell.front() == '-')) cell.remove_prefix(1);
    return !cell.empty() && cell.find_first_not_of("0123456789") == cell.npos;
}

}  // namespace glint
