// Functions that glint's objects call and glibc 2.28 lacks. Linked into the programs of the archive and the module of
// the wheels (old_glibc.py), and hidden there, so that no other code in the process uses them instead of glibc's.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

// Defined here because the static part of glibc that defines atexit() is not linked. The compiler's start files define
// the handle.
extern void* __dso_handle;
int __cxa_atexit(void (*)(void*), void*, void*);
int atexit(void (*call)(void)) { return __cxa_atexit((void (*)(void*))call, NULL, __dso_handle); }

// Functions since 2.33. Before, the headers replaced them by calls of the following functions, with the layout's
// number.
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
int __fxstatat(int, int, const char*, struct stat*, int);
enum { layout = 1 };
int stat(const char* path, struct stat* to) { return __xstat(layout, path, to); }
int lstat(const char* path, struct stat* to) { return __lxstat(layout, path, to); }
int fstat(int file, struct stat* to) { return __fxstat(layout, file, to); }
int fstatat(int folder, const char* path, struct stat* to, int flags) {
    return __fxstatat(layout, folder, path, to, flags);
}
int stat64(const char*, struct stat64*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat64*, int) __attribute__((alias("fstatat")));

// Since 2.32: whether there is only one thread, for libstdc++'s counts of references. Here always false.
char __libc_single_threaded = 0;

// Since 2.30. Uses the system's function if it exists, because the replacement depends on CLOCK_REALTIME, which may be
// set during a wait.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
    static int (*own)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
    static int looked;
    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
        void* found = dlvsym(RTLD_NEXT, "pthread_cond_clockwait", "GLIBC_2.34");
        if (!found) found = dlvsym(RTLD_NEXT, "pthread_cond_clockwait", "GLIBC_2.30");
        own = (int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*))found;  // the same for all
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    if (own) return own(condition, mutex, clock, until);
    struct timespec now, day;
    if (clock_gettime(clock, &now) || clock_gettime(CLOCK_REALTIME, &day)) return EINVAL;
    day.tv_sec += until->tv_sec - now.tv_sec, day.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (day.tv_nsec < 0) day.tv_nsec += 1000000000, --day.tv_sec;
    if (day.tv_nsec >= 1000000000) day.tv_nsec -= 1000000000, ++day.tv_sec;
    if (day.tv_sec < 0) day.tv_sec = day.tv_nsec = 0;
    return pthread_cond_timedwait(condition, mutex, &day);
}

// Since 2.36: a random number from the system, for std::random_device.
uint32_t arc4random(void) {
    uint32_t number;
    while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        if (errno != EINTR) abort();  // as in glibc, because there is no random number
    return number;
}

// Since 2.35: finds the unwind tables of the code at an address, when an exception is thrown.
struct Wanted {
    uintptr_t at;
    struct dl_find_object* found;
};
static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size;
    struct Wanted* wanted = data;
    const ElfW(Phdr)* tables = NULL;
    int inside = 0;
    for (int k = 0; k < object->dlpi_phnum; ++k) {
        const ElfW(Phdr)* part = &object->dlpi_phdr[k];
        const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && wanted->at >= begin && wanted->at < begin + part->p_memsz) {
            inside = 1;
            wanted->found->dlfo_map_start = (void*)begin, wanted->found->dlfo_map_end = (void*)(begin + part->p_memsz);
        }
        if (part->p_type == PT_GNU_EH_FRAME) tables = part;
    }
    if (!inside || !tables) return 0;
    wanted->found->dlfo_eh_frame = (void*)(object->dlpi_addr + tables->p_vaddr);
    wanted->found->dlfo_link_map = NULL, wanted->found->dlfo_flags = 0;
    return 1;
}
int _dl_find_object(void* at, struct dl_find_object* found) {
    struct Wanted wanted = {(uintptr_t)at, found};
    return dl_iterate_phdr(look_at, &wanted) == 1 ? 0 : -1;
}

// Since 2.35: vector functions, which the compiler calls in loops. Here they compute one number after the other, with
// the same accuracy.
#define LANES(type, n) type __attribute__((vector_size(n * sizeof(type))))
#define ONE(symbol, type, n, isa, function)                                                          \
    LANES(type, n) symbol##_of(LANES(type, n) a) __asm__(#symbol) __attribute__((target(isa)));     \
    LANES(type, n) symbol##_of(LANES(type, n) a) {                                                      \
        LANES(type, n) r = {0};                                                                         \
        for (int k = 0; k < n; ++k) r[k] = function(a[k]);                                              \
        return r;                                                                                       \
    }
#define TWO(symbol, type, n, isa, function)                                                                          \
    LANES(type, n) symbol##_of(LANES(type, n) a, LANES(type, n) b) __asm__(#symbol) __attribute__((target(isa)));   \
    LANES(type, n) symbol##_of(LANES(type, n) a, LANES(type, n) b) {                                                   \
        LANES(type, n) r = {0};                                                                                        \
        for (int k = 0; k < n; ++k) r[k] = function(a[k], b[k]);                                                       \
        return r;                                                                                                      \
    }
#define OF_ONE(function)                                                                                          \
    ONE(_ZGVbN2v_##function, double, 2, "sse2", function)                                                         \
    ONE(_ZGVdN4v_##function, double, 4, "avx2", function)                                                         \
    ONE(_ZGVeN8v_##function, double, 8, "avx512f", function)                                                      \
    ONE(_ZGVbN4v_##function##f, float, 4, "sse2", function##f)                                                    \
    ONE(_ZGVdN8v_##function##f, float, 8, "avx2", function##f)                                                    \
    ONE(_ZGVeN16v_##function##f, float, 16, "avx512f", function##f)
#define OF_TWO(function)                                                                                          \
    TWO(_ZGVbN2vv_##function, double, 2, "sse2", function)                                                        \
    TWO(_ZGVdN4vv_##function, double, 4, "avx2", function)                                                        \
    TWO(_ZGVeN8vv_##function, double, 8, "avx512f", function)                                                     \
    TWO(_ZGVbN4vv_##function##f, float, 4, "sse2", function##f)                                                   \
    TWO(_ZGVdN8vv_##function##f, float, 8, "avx2", function##f)                                                   \
    TWO(_ZGVeN16vv_##function##f, float, 16, "avx512f", function##f)
#pragma GCC diagnostic ignored "-Wpsabi"
OF_ONE(acos) OF_ONE(acosh) OF_ONE(asin) OF_ONE(asinh) OF_ONE(atan) OF_ONE(atanh) OF_ONE(cbrt) OF_ONE(cosh) OF_ONE(erf)
OF_ONE(erfc) OF_ONE(exp10) OF_ONE(exp2) OF_ONE(expm1) OF_ONE(log10) OF_ONE(log1p) OF_ONE(log2) OF_ONE(sinh) OF_ONE(tan)
OF_ONE(tanh) OF_TWO(atan2) OF_TWO(hypot)
