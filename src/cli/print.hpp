// Output of the program: results on stdout and messages on stderr. A failed write of a result is an error.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "gpu/text.hpp"

namespace glint::cli {

using gpu::printable;

/// Call it first in main. Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Otherwise a file that
/// is opened later could get that number, and the messages. Results for a closed stdout still fail. A write to a pipe
/// without a reader (SIGPIPE), or beyond a file size limit (SIGXFSZ), fails instead of ending glint.
void prepare_streams();

/// Writes to stdout immediately. Records a failure for require_results(), and continues.
void put_text(std::string_view text);
template <class... Values>
void put(fmt::format_string<Values...> format, Values&&... values) {
    put_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Throws OutputError if a result could not be written, except to a pipe whose reader has closed it.
void require_results();

/// Writes to stderr; a failure is ignored.
void tell_text(std::string_view text);
template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) {
    tell_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace glint::cli
