// Writes to stdout and stderr, even if these are closed or full.
// SPDX-License-Identifier: MIT
#include "cli/print.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "cli/spelling.hpp"
#include "glint/error.hpp"

namespace glint::cli {
namespace {

bool some_result = false;
int result_error = 0;  // errno of the first result that could not be written

/// Returns 0, or errno.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        text.remove_prefix(std::size_t(written));
    }
    return 0;
}

/// Returns the error of closing a copy of the descriptor: some file systems report a full disk only at the close.
int error_at_close(int descriptor) {
    const int copy = ::dup(descriptor);
    return copy >= 0 && ::close(copy) != 0 ? errno : 0;
}

/// Makes the write fail. Unlike SIG_IGN, a handler is not inherited by programs that this one starts.
void fail_the_write(int) {}

}  // namespace

void prepare_streams() {
    for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) >= 0) continue;
        const int mode =
            descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;  // reading or writing fails, as if it were closed
        if (::open("/dev/null", mode | O_CLOEXEC) != descriptor) return;  // without /dev/null there is no remedy
    }
    for (int signal : {SIGPIPE, SIGXFSZ}) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
        action.sa_handler = fail_the_write;
        action.sa_flags = SA_RESTART;
        ::sigaction(signal, &action, nullptr);
    }
}

void put_text(std::string_view text) {
    some_result = true;
    if (result_error == 0) result_error = write_all(STDOUT_FILENO, text);
}

void require_results() {
    if (some_result && result_error == 0) result_error = error_at_close(STDOUT_FILENO);
    if (result_error == 0 || result_error == EPIPE) return;  // a reader that has ended, such as `head`, is no error
    throw OutputError(fmt::format("the result could not be written to stdout: {}", std::strerror(result_error)));
}

// Rewords only messages. Results are data, which may look like an option, for example a condition with `z`.
void tell_text(std::string_view text) { write_all(STDERR_FILENO, in_flags(text)); }

}  // namespace glint::cli
