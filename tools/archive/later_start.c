// Starts a program of the archive on an older glibc than the one with which it was compiled. Linked into programs, not
// into modules.
// SPDX-License-Identifier: MIT
#include <stddef.h>

// Since 2.34 glibc runs a program's constructors. Before, the program passed a function that runs them, which glibc
// called, and still calls.
typedef void (*Constructor)(int, char**, char**);
extern Constructor __init_array_start[], __init_array_end[];
static void construct(int argc, char** argv, char** environment) {
    for (Constructor* one = __init_array_start; one < __init_array_end; ++one) (*one)(argc, argv, environment);
}
typedef int (*Main)(int, char**, char**);
int __real___libc_start_main(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);
int __wrap___libc_start_main(Main main, int argc, char** argv, Constructor none, void (*end)(void),
                             void (*unload)(void), void* stack_end) {
    return __real___libc_start_main(main, argc, argv, none ? none : construct, end, unload, stack_end);
}
