// Decimal numbers in names, and numbers that are missing among them.
// SPDX-License-Identifier: MIT
#include "io/movie_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <regex>
#include <string_view>
#include <tuple>

#include "glint/error.hpp"

namespace glint {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes and returns the number at the text's beginning, without its leading zeros.
std::string_view take_number(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    std::string_view number = text.substr(0, std::size_t(end - text.begin()));
    text.remove_prefix(number.size());
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

namespace fs = std::filesystem;

/// A name's stem that is a decimal number with a text before and behind: "t_0.9".
struct DecimalName {
    std::string before, whole, fraction, behind;
};
std::optional<DecimalName> decimal_name(const std::string& file) {
    static const std::regex pattern("([^0-9]{0,200})([0-9]{1,18})(?:\\.([0-9]{1,18}))?([^0-9]{0,200})");
    const std::string stem = fs::path(file).stem().string();
    std::smatch match;
    if (stem.size() > 255 || !std::regex_match(stem, match, pattern)) return std::nullopt;
    return DecimalName{match[1], match[2], match[3], match[4]};
}

/// Returns true if the names differ only in one decimal number, such as times in seconds.
bool have_decimals(const std::vector<std::string>& files) {
    std::optional<DecimalName> first;
    bool has_fraction = false;
    for (const std::string& file : files) {
        const auto name = decimal_name(file);
        if (!name) return false;
        if (!first) first = name;
        if (name->before != first->before || name->behind != first->behind) return false;
        has_fraction |= !name->fraction.empty();
    }
    return has_fraction;
}

/// The last number of a file name, and the texts around it; nullopt if it has no number.
struct NumberedName {
    std::string before, behind;
    std::uint64_t number = 0;
};
std::optional<NumberedName> numbered(const fs::path& file) {
    const std::string name = file.stem().string();
    const auto last = name.find_last_of("0123456789");
    if (last == name.npos) return std::nullopt;
    const auto before = name.find_last_not_of("0123456789", last);
    const auto first = before == name.npos ? 0 : before + 1;
    NumberedName found{name.substr(0, first), name.substr(last + 1), 0};
    const auto [end, error] = std::from_chars(name.data() + first, name.data() + last + 1, found.number);
    if (error != std::errc()) return std::nullopt;
    return found;
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
    std::string_view x = a, y = b;
    while (!x.empty() && !y.empty()) {
        if (is_digit(x.front()) && is_digit(y.front())) {
            const std::string_view m = take_number(x), n = take_number(y);
            if (m.size() != n.size()) return m.size() < n.size();
            if (m != n) return m < n;
            continue;
        }
        if (x.front() != y.front())
            return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
        x.remove_prefix(1), y.remove_prefix(1);
    }
    if (x.empty() != y.empty()) return x.empty();
    return a < b;
}

void sort_by_number(std::vector<std::string>& files) {
    if (!have_decimals(files))
        return std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
            const std::string x = fs::path(a).stem().string(), y = fs::path(b).stem().string();
            return x == y ? natural_less(a, b) : natural_less(x, y);
        });
    const bool are_parts = std::any_of(files.begin(), files.end(), [](const std::string& file) {
        const std::string fraction = decimal_name(file)->fraction;
        return fraction.size() > 1 && fraction.ends_with('0');  // a value of 1 may be written as 1.0
    });
    const auto value = [&](const std::string& file) {
        const DecimalName name = *decimal_name(file);
        const std::int64_t part = name.fraction.empty() ? -1 : std::stoll(name.fraction);
        return std::tuple(std::stoll(name.whole), are_parts ? part : 0, name.fraction, file);
    };
    std::sort(files.begin(), files.end(),
              [&](const std::string& a, const std::string& b) { return value(a) < value(b); });
}

bool is_lost_link(const fs::path& path) {
    std::error_code ignored;
    return fs::is_symlink(fs::symlink_status(path, ignored)) &&
           fs::status(path, ignored).type() == fs::file_type::not_found;
}

bool is_readable_file(const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    std::error_code failed, ignored;
    const fs::file_status status = entry.status(failed);
    std::string why;
    if (is_lost_link(path))
        why = fmt::format("is a link to {}, which does not exist", fs::read_symlink(path, ignored).string());
    else if (fs::is_directory(status) || status.type() == fs::file_type::not_found)
        return false;
    else if (status.type() == fs::file_type::none)
        why = fmt::format("cannot be looked at ({})", failed.message());
    else if (!fs::is_regular_file(status))
        why = "is not a regular file";
    else if (::access(path.c_str(), R_OK) != 0)
        why = fmt::format("cannot be opened ({})", std::strerror(errno));
    else
        return true;
    throw InputError(
        fmt::format("{}: {}: without it, the frames behind it would get wrong numbers. Put the file back and make it "
                    "readable, or move it out of the folder if it is no frame of the movie",
                    path.string(), why));
}

std::string missing_numbers(const std::vector<fs::path>& files, const std::string& folder) {
    std::vector<std::uint64_t> numbers;
    std::optional<NumberedName> first;
    for (const fs::path& file : files) {
        const auto name = numbered(file);
        if (!first) first = name;
        if (!name || name->before != first->before || name->behind != first->behind) return {};
        if (!numbers.empty() && name->number <= numbers.back()) return {};
        numbers.push_back(name->number);
    }
    if (numbers.size() < 3) return {};  // with two numbers, the step is unknown
    std::uint64_t step = numbers[1] - numbers[0], missing = 0, lowest = 0, highest = 0;
    for (std::size_t k = 1; k < numbers.size(); ++k) step = std::min(step, numbers[k] - numbers[k - 1]);
    for (std::size_t k = 1; k < numbers.size(); ++k) {
        const std::uint64_t gap = numbers[k] - numbers[k - 1];
        if (gap % step != 0) return {};
        if (gap == step) continue;
        if (missing == 0) lowest = numbers[k - 1] + step;
        highest = numbers[k] - step;
        missing += gap / step - 1;
    }
    if (missing == 0) return {};
    const std::string which =
        missing == 1 ? fmt::format("number {} is", lowest) : fmt::format("{} numbers are", missing);
    const std::string ends = missing == 1 ? "" : fmt::format(" (the first {}, the last {})", lowest, highest);
    return fmt::format("{}: {} missing among the names{}, and frames behind a gap have too small numbers", folder,
                       which, ends);
}

}  // namespace glint
