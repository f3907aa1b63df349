// Reads a text table line by line in bounded memory, and splits its lines into cells.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

/// The lines of a file, without their ends (LF or CRLF). Throws InputError for a line longer than 1 MiB, which no table
/// has.
class CsvLines {
  public:
    explicit CsvLines(const std::filesystem::path& path);

    /// Gets the next line, valid until the next call. Returns false at the end of the file.
    bool next(std::string_view& line);

    /// Returns the next lines, at most `most` and a few MiB in all; none at the end of the file. Valid until the
    /// next call.
    void next(std::vector<std::string_view>& lines, std::size_t most);

    /// Begins again at the first line. Throws InputError.
    void restart();

    /// Returns the bytes left, from the file's length when it was opened; 0 beyond that length.
    std::uintmax_t bytes_left() const { return bytes_ > taken_ ? bytes_ - taken_ : 0; }

    std::size_t number() const { return number_; }   ///< of the last line, from 1
    bool terminated() const { return terminated_; }  ///< whether the last line ended in a newline

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    bool refill();
    bool next_in_buffer(std::string_view& line);
    void require_short(std::size_t bytes) const;

    std::string name_, buffer_;
    std::unique_ptr<std::FILE, Close> file_;
    std::size_t begin_ = 0, number_ = 0;
    std::uintmax_t bytes_ = 0, read_ = 0,
                   taken_ = 0;  // bytes of the file; bytes read into the buffer; bytes returned as lines
    bool terminated_ = true, at_end_ = false;
    char newline_ = '\n';  // '\r' if the file's first bytes contain no '\n'
};

/// Returns the separator of a header's cells: the most frequent of commas, semicolons and tabs outside quotes and
/// units.
char separator_of(std::string_view header);

/// Splits at separators; cells may be quoted ("" inside quotes is a quote). Quotes and outer blanks are removed.
/// `cells` are valid while `line` and `scratch` are.
void split_csv(std::string_view line, std::vector<std::string_view>& cells, std::vector<std::string>& scratch,
               char separator = ',');

/// Parses a number, or NaN for an empty cell. Returns false if it is neither.
bool parse_cell(std::string_view cell, double& value);
/// Like parse_cell(), but with a decimal comma. For files whose cells are not separated by commas.
bool parse_cell_with_comma(std::string_view cell, double& value);

/// Returns true for digits with or without a sign.
bool is_whole_number(std::string_view cell);

}  // namespace glint
