// What a program prints: results on stdout, which have to arrive; all else on stderr, which need not.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace glint::cli {

/// To be called first in main. Where descriptor 0, 1 or 2 is closed, /dev/null takes its place, so that no file that is
/// opened later gets the number and with it the messages; results for a closed stdout fail as before. A write to a pipe
/// that nobody reads, or beyond a file size limit, becomes an error of that write instead of a sudden end.
void prepare_streams();

/// To stdout, at once. One that does not arrive is remembered, and the work goes on: require_results().
void put_text(std::string_view text);
template <class... Values>
void put(fmt::format_string<Values...> format, Values&&... values) {
    put_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Throws OutputError where a result did not arrive.
void require_results();

/// To stderr, if somebody is there.
void tell_text(std::string_view text);
template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) {
    tell_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace glint::cli
