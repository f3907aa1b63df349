// The context creation lock: one flock()ed file per GPU in the state directory.
//
// Contexts that are created at once slow each other down: alone 0.2 s, 8 at once 0.9 s each, 32 at once 5 s, and of 128
// at once 28 fail. In turn each takes 0.25 to 0.4 s. The lock is advice: whoever cannot get it creates its context
// anyway, so neither a stopped holder nor a user who locks the file for ever can keep others from a GPU.
// SPDX-License-Identifier: MIT
#include "gpu/lease/context_creation_lock.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace glint::gpu::lease {
namespace {

/// "create." and the UUID in hex: the same for all processes, whatever number the GPU has for them.
std::string file_name(const GpuId& gpu) {
    constexpr const char* hex = "0123456789abcdef";
    std::string name = "create.";
    for (const unsigned char byte : gpu) name += hex[byte >> 4], name += hex[byte & 15];
    return name;
}

/// Opens the lock file, which any user may have created. Its content is never read, so it need not be trusted.
///
/// First without O_CREAT: in a sticky directory the kernel refuses O_CREAT on another user's file
/// (fs.protected_regular). flock() needs no write access, so a read-only descriptor does where the owner's umask has
/// kept the file from others. O_NONBLOCK: opening a FIFO of that name must not wait for a writer.
Descriptor open_lock(const StateDir& directory, const std::string& name) {
    constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const auto open_as = [&](int how) { return ::openat(directory.descriptor(), name.c_str(), flags | how, 0666); };
    int file = open_as(O_RDWR);
    // Killed before fchmod(), the creator leaves a file with the umask's mode: others then open it read-only, or not at
    // all.
    if (file < 0 && errno == ENOENT && (file = open_as(O_RDWR | O_CREAT | O_EXCL)) >= 0) ::fchmod(file, 0666);
    if (file < 0 && errno == EEXIST) file = open_as(O_RDWR);
    if (file < 0 && errno == EACCES) file = open_as(O_RDONLY);
    Descriptor owned(file);
    struct stat status {};
    if (!owned || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return owned;
}

/// The held lock. A forked child inherits the open file description, and must not unlock it.
struct CreationLock {
    Descriptor file;
    pid_t owner = ::getpid();
    // Unlocked explicitly: closing the file would not do while a forked child has the descriptor, too.
    ~CreationLock() {
        if (::getpid() == owner) ::flock(file.get(), LOCK_UN);
    }
};

}  // namespace

// Two limits, as a queue that moves is worth waiting for and a stopped holder is not. changed_ns is when this process
// last saw the lock change hands, on its own clock; mtime is compared for equality only, since it is another clock.
std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock) {
    if (directory.descriptor() < 0) return nullptr;
    Descriptor file = open_lock(directory, file_name(gpu));
    if (!file) return nullptr;
    const auto seconds_since = [&](std::uint64_t then_ns) { return double(clock.now_ns() - then_ns) / 1e9; };
    const std::uint64_t began_ns = clock.now_ns();
    std::uint64_t changed_ns = began_ns;
    timespec last{};
    double pause_s = 0.001;
    // Polled, not blocking: flock() has no timeout, and a stopped holder must not block others for ever.
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EINTR && errno != EWOULDBLOCK) return nullptr;
        struct stat status {};
        ::fstat(file.get(), &status);
        if (status.st_mtim.tv_sec != last.tv_sec || status.st_mtim.tv_nsec != last.tv_nsec)
            last = status.st_mtim, changed_ns = clock.now_ns();
        if (seconds_since(changed_ns) > creation_lock_stall_s || seconds_since(began_ns) > creation_lock_timeout_s)
            return nullptr;
        clock.wait(-1, pause_s);
        // Up to 10 ms: small against the 250 ms of a context, and a hundred waiters cost little. The order is not kept.
        pause_s = std::min(2 * pause_s, 0.01);
    }
    ::futimens(file.get(), nullptr);  // waiters measure by the mtime whether the lock still changes hands
    auto lock = std::make_shared<CreationLock>();
    lock->file = std::move(file);
    return lock;
}

}  // namespace glint::gpu::lease
