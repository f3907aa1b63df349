// For LD_PRELOAD: makes a program wait after its n-th record of finished frames (tests/hold.hpp).
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace {

bool is_journal(int descriptor) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
    const std::string name(path, std::size_t(length > 0 ? length : 0));
    return name.ends_with(".journal") || name.ends_with(".part");
}

void hold() {
    const char *records = std::getenv("HOLD_AFTER_RECORDS"), *folder = std::getenv("HOLD_IN");
    static std::atomic<int> written{-1};  // -1, because the header is not a record
    if (!records || !folder || ++written != std::atoi(records)) return;
    const std::string here = folder;
    ::close(::open((here + "/" + std::to_string(::getpid())).c_str(), O_CREAT | O_WRONLY, 0666));
    while (::access((here + "/go_on").c_str(), F_OK) != 0) ::usleep(1000);
}

}  // namespace

extern "C" ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
    static const auto real = reinterpret_cast<decltype(&pwrite)>(::dlsym(RTLD_NEXT, "pwrite"));
    const ssize_t written = real(descriptor, data, bytes, offset);
    if (is_journal(descriptor)) hold();
    return written;
}
