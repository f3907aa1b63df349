// close_range(2), and what does the same without it.
// SPDX-License-Identifier: MIT
#include "base/close_from.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace glint {

void close_from(int first) {
    if (::syscall(SYS_close_range, unsigned(first), ~0u, 0u) == 0) return;  // Linux 5.9
    for (long number = ::sysconf(_SC_OPEN_MAX) - 1; number >= first; --number) ::close(int(number));
}

}  // namespace glint
