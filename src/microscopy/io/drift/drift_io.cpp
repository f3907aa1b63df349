// Reads Picasso's drift files (a line x y [z] per frame) and positions of beads (a line x y per bead).
// SPDX-License-Identifier: MIT
#include "glint/drift_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "glint/error.hpp"
#include "io/csv/lines.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/metadata_values.hpp"

namespace glint {
namespace {

void require_pixel_size(const std::filesystem::path& path, double pixel_size_nm) {
    if (!(pixel_size_nm > 0) || !std::isfinite(pixel_size_nm))
        throw InputError(fmt::format("{}: a drift file is in camera pixels, whose size must be above 0 (found {} nm)",
                                     path.string(), pixel_size_nm));
}

/// Returns the numbers of a line, split at blanks; empty if one is invalid.
std::vector<double> numbers_of(std::string_view line) {
    constexpr std::string_view blanks = " \t";
    std::vector<double> numbers;
    for (std::size_t at = line.find_first_not_of(blanks); at != line.npos; at = line.find_first_not_of(blanks, at)) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        const auto number = number_of<double>(line.substr(at, end - at));
        if (!number || !std::isfinite(*number)) return {};
        numbers.push_back(*number);
        at = end;
    }
    return numbers;
}

/// Gets the next line that is neither blank nor a comment. Skips a byte order mark, with which Windows' editors begin a
/// file.
bool next_numbers(CsvLines& lines, std::string_view& line) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    do {
        if (!lines.next(line)) return false;
        if (lines.number() == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    } while (line.find_first_not_of(" \t") == line.npos || line.front() == '#');
    return true;
}

}  // namespace

Drift read_drift(const std::filesystem::path& path, double pixel_size_nm) {
    require_pixel_size(path, pixel_size_nm);
    const InputFile readable(path);  // reports an invalid path
    CsvLines lines(path);
    Drift drift;
    std::size_t columns = 0;
    for (std::string_view line; next_numbers(lines, line);) {
        const std::vector<double> numbers = numbers_of(line);
        if (columns == 0 && (numbers.size() == 2 || numbers.size() == 3)) columns = numbers.size();
        if (columns == 0 || numbers.size() != columns)
            throw InputError(fmt::format(
                "{}: line {} is not {} of a frame's drift, separated by spaces, as Picasso writes them; found \"{}\"",
                path.string(), lines.number(),
                columns == 2   ? "the two numbers x y, as the lines before,"
                : columns == 3 ? "the three numbers x y z, as the lines before,"
                               : "the two or three numbers x y [z]",
                line.substr(0, 60)));
        drift.x.nm.push_back(numbers[0] * pixel_size_nm);
        drift.y.nm.push_back(numbers[1] * pixel_size_nm);
        if (columns == 3) drift.z.nm.push_back(numbers[2]);
        constexpr double most = 1 << 24;  // beyond that, positions in single precision have no fractions
        if (std::any_of(numbers.begin(), numbers.end(), [](double by) { return std::abs(by) > most; }))
            throw InputError(
                fmt::format("{}: line {} is a drift that no sample has: at most {:g} px (z: nm); found \"{}\"",
                            path.string(), lines.number(), most, line.substr(0, 60)));
    }
    if (drift.frames() == 0) throw InputError(fmt::format("{}: no line of a drift", path.string()));
    return drift;
}

std::vector<std::array<double, 2>> read_bead_places(const std::filesystem::path& path) {
    const InputFile readable(path);  // reports an invalid path
    CsvLines lines(path);
    std::vector<std::array<double, 2>> places;
    for (std::string_view line; next_numbers(lines, line);) {
        const std::vector<double> numbers = numbers_of(line);
        if (numbers.size() != 2)
            throw InputError(
                fmt::format("{}: line {} is not the two numbers x y of a bead, in camera pixels, separated by a space; "
                            "found \"{}\"",
                            path.string(), lines.number(), line.substr(0, 60)));
        places.push_back({numbers[0], numbers[1]});
    }
    if (places.empty()) throw InputError(fmt::format("{}: no line with a bead's place", path.string()));
    return places;
}

void write_drift(const std::filesystem::path& path, const Drift& drift, double pixel_size_nm, IfExists if_exists) {
    require_pixel_size(path, pixel_size_nm);
    std::string text;
    for (std::size_t f = 0; f < drift.x.nm.size(); ++f) {
        fmt::format_to(std::back_inserter(text), "{:.9e} {:.9e}", drift.x.nm[f] / pixel_size_nm,
                       drift.y.nm[f] / pixel_size_nm);
        if (!drift.z.nm.empty()) fmt::format_to(std::back_inserter(text), " {:.9e}", drift.z.nm[f]);
        text += "\r\n";
    }
    AtomicFile file(path, if_exists);
    file.write(text);
    file.commit();
}

}  // namespace glint
