// Output of the program: results on stdout, where a failed write is an error; all else on stderr, where it is not.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "gpu/text.hpp"

namespace glint::cli {

using gpu::printable;

/// Call it first in main. Opens /dev/null where descriptor 0, 1 or 2 is closed, so that no file that is opened later
/// gets that number and with it the messages; results for a closed stdout still fail. A write to a pipe without a
/// reader (SIGPIPE), or beyond a file size limit (SIGXFSZ), fails that write instead of ending glint.
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
