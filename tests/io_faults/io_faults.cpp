// For LD_PRELOAD: makes one call that changes a file fail, or kills the process at that call.
// SPDX-License-Identifier: MIT
//
// Only calls on files in GLINT_FAULT_FOLDER count (paths relative to it, because the program runs there). Call number
// GLINT_FAULT_AT (from 1) fails; with GLINT_FAULT_KIND=kill the process is killed there. At the end the number of calls
// is written to GLINT_FAULT_COUNT, which is outside of the folder. With GLINT_FAULT_NO_LOCKS no file can be locked, as
// on some network file systems.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<int> calls{0};

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool counts(const char* path) {
    const char* folder = setting("GLINT_FAULT_FOLDER");
    if (!*folder || !path) return false;
    return path[0] != '/' || (std::strncmp(path, folder, std::strlen(folder)) == 0 && path[std::strlen(folder)] == '/');
}

/// Returns true if calls on this descriptor count. Standard output and error do not count, even through other
/// descriptors: they are files of the test in that folder.
bool counts(int descriptor) {
    if (descriptor <= 2) return false;
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = ::readlink(link, path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = 0;
    const auto ends_with = [&](const char* end) { return length > 5 && std::strcmp(path + length - 5, end) == 0; };
    return path[0] == '/' && !ends_with("/.out") && !ends_with("/.err") && counts(path);
}

/// Returns true if this call must fail. Does not return from the call that kills the process.
template <class Place>
bool is_the_one(Place place) {
    if (!counts(place)) return false;
    if (++calls != std::atoi(setting("GLINT_FAULT_AT"))) return false;
    if (std::strcmp(setting("GLINT_FAULT_KIND"), "kill") == 0) ::raise(SIGKILL);
    return true;
}

int failed(int error) {
    errno = error;
    return -1;
}

template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

struct AtExit {
    ~AtExit() {
        const char* path = setting("GLINT_FAULT_COUNT");
        if (!*path) return;
        const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        const std::string text = std::to_string(calls.load());
        if (::syscall(SYS_write, file, text.data(), text.size()) < 0) std::abort();
        ::syscall(SYS_close, file);
    }
} at_exit;

}  // namespace

#define NEXT(name) static auto* const real = next<decltype(name)>(#name)

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
    NEXT(write);
    return is_the_one(file) ? failed(ENOSPC) : real(file, bytes, count);
}
ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
    NEXT(pwrite);
    return is_the_one(file) ? failed(ENOSPC) : real(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    NEXT(pwrite64);
    return is_the_one(file) ? failed(ENOSPC) : real(file, bytes, count, offset);
}
int ftruncate(int file, off_t size) noexcept {
    NEXT(ftruncate);
    return is_the_one(file) ? failed(EIO) : real(file, size);
}
int ftruncate64(int file, off64_t size) noexcept {
    NEXT(ftruncate64);
    return is_the_one(file) ? failed(EIO) : real(file, size);
}
int fsync(int file) {
    NEXT(fsync);
    return is_the_one(file) ? failed(EIO) : real(file);
}
int fdatasync(int file) {
    NEXT(fdatasync);
    return is_the_one(file) ? failed(EIO) : real(file);
}
// As in the kernel, the descriptor is closed even if close() reports an error.
int close(int file) {
    NEXT(close);
    const bool fails = is_the_one(file);
    const int result = real(file);
    return fails ? failed(EIO) : result;
}
int rename(const char* from, const char* to) noexcept {
    NEXT(rename);
    return is_the_one(from) ? failed(EIO) : real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    NEXT(renameat2);
    return is_the_one(from) ? failed(EIO) : real(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
    NEXT(link);
    return is_the_one(from) ? failed(EIO) : real(from, to);
}
int unlink(const char* path) noexcept {
    NEXT(unlink);
    return is_the_one(path) ? failed(EIO) : real(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
    NEXT(unlinkat);
    return is_the_one(path) ? failed(EIO) : real(folder, path, flags);
}
int rmdir(const char* path) noexcept {
    NEXT(rmdir);
    return is_the_one(path) ? failed(EIO) : real(path);
}
int remove(const char* path) noexcept {
    NEXT(remove);
    return is_the_one(path) ? failed(EIO) : real(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
    NEXT(mkdir);
    return is_the_one(path) ? failed(ENOSPC) : real(path, mode);
}

int flock(int file, int operation) noexcept {
    NEXT(flock);
    return *setting("GLINT_FAULT_NO_LOCKS") ? failed(ENOLCK) : real(file, operation);
}

// Counts only calls that may create a file; opening to read does not fail.
int open(const char* path, int flags, ...) {
    NEXT(open);
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_CREAT) && is_the_one(path)) return failed(ENOSPC);
    return real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
    NEXT(open64);
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_CREAT) && is_the_one(path)) return failed(ENOSPC);
    return real(path, flags, mode);
}
}
