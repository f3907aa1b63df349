// The context creation lock: one flock()ed file per GPU in the state directory.
//
// Contexts that are created simultaneously slow each other down: one alone takes 0.2 s, 8 together 0.9 s each, 32
// together 5 s each; of 128 together, 28 fail. Created one after the other, each takes 0.25 to 0.4 s. The lock is
// advisory: a process that cannot get it creates its context anyway, so neither a stopped holder nor a user who locks
// the file permanently can block a GPU.
//
// Any user can touch the file and hold a flock() on it permanently. So a process does not wait for the lock if no other
// lease is on the GPU. After an unsuccessful wait, it does not wait again until it has found the lock free.
// SPDX-License-Identifier: MIT
#include "gpu/lease/context_creation_lock.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "glint/error.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

/// "create." and the UUID in hex: the same for all processes, whatever the GPU's number in each.
std::string file_name(const GpuId& gpu) {
    constexpr const char* hex = "0123456789abcdef";
    std::string name = "create.";
    for (const unsigned char byte : gpu) name += hex[byte >> 4], name += hex[byte & 15];
    return name;
}

/// Opens the lock file, which any user may have created. Its content is never read, so it need not be trusted.
///
/// First without O_CREAT: in a sticky directory the kernel refuses O_CREAT on another user's file
/// (fs.protected_regular). flock() needs no write access, so a read-only descriptor suffices if the owner's umask has
/// denied write access. O_NONBLOCK: opening a FIFO of that name must not wait for a writer.
Descriptor open_lock(const StateDir& directory, const std::string& name) {
    constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const auto open_as = [&](int how) { return ::openat(directory.descriptor(), name.c_str(), flags | how, 0666); };
    int file = open_as(O_RDWR);
    // If killed before fchmod(), the creator leaves a file with the umask's mode: other users then open the file
    // read-only, or not at all.
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
    // Unlocked explicitly: closing the file would not unlock it while a forked child has the descriptor, too.
    ~CreationLock() {
        if (::getpid() == owner) ::flock(file.get(), LOCK_UN);
    }
};

double seconds(std::uint64_t nanoseconds) { return double(nanoseconds) / 1e9; }

/// Returns the process with a flock() on the file; 0: none, or a process of another pid namespace, which the kernel
/// does not list here.
unsigned pid_with_flock(const struct stat& file) {
    std::ostringstream device;  // in the kernel's notation
    device << std::hex << std::setfill('0') << std::setw(2) << major(file.st_dev) << ':' << std::setw(2)
           << minor(file.st_dev) << ':' << std::dec << file.st_ino;
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        std::istringstream words(line);
        std::string number, kind, advisory, access, where;
        unsigned pid = 0;
        if (words >> number >> kind >> advisory >> access >> pid >> where && kind == "FLOCK" && where == device.str())
            return pid;
    }
    return 0;
}

std::string holder_words(int file) {
    struct stat status {};
    const unsigned pid = ::fstat(file, &status) == 0 ? pid_with_flock(status) : 0;
    if (pid == 0) return "another process";
    const auto info = process_info(pid);
    return info ? text("process ", pid, " (", info->name, ", user ", info->uid, ")") : text("process ", pid);
}

bool is_leased_by_others(const StateDir& directory, const GpuId& gpu, const SlotName& self) {
    const StateDir::Scan scan = directory.scan();
    return std::any_of(scan.slots.begin(), scan.slots.end(), [&](const ScannedSlot& slot) {
        const auto shares = slot.record.used_shares();
        return slot.alive && slot.record.state == State::holding && slot.name != self &&
               std::any_of(shares.begin(), shares.end(), [&](const Share& share) { return share.gpu == gpu; });
    });
}

/// A lock that this process found busy and has not acquired since.
struct Busy {
    timespec touched{};            // mtime, compared only for equality, as it uses another clock
    std::uint64_t changed_ns = 0;  // when it last changed hands, by this process's clock
    std::uint64_t waited_ns = 0;   // by all calls together
};
std::mutex busy_mutex;
std::map<std::string, Busy> busy_locks;  // by path; guarded by busy_mutex

/// One wait, with two limits: waiting for a moving queue pays off, waiting for a stopped holder does not. Both limits
/// continue from call to call, so no process waits the full time twice. Requests with a short timeout thus also get
/// past a stopped holder.
class Waiter {
  public:
    Waiter(const StateDir& directory, const GpuId& gpu, Clock& clock, const CreationWait& wait, int file)
        : directory_(directory),
          gpu_(gpu),
          clock_(clock),
          wait_(wait),
          file_(file),
          began_ns_(clock.now_ns()),
          looked_ns_(began_ns_) {}

    /// The lock is busy. Returns whether to create the context without it. Throws if the request ends, and reports
    /// progress.
    bool should_ignore() {
        const LeaseRequest& request = wait_.request;
        if (request.stop && request.stop->load())
            throw Cancelled(text("stopped while waiting for the turn to create a context on ", wait_.gpu));
        const std::uint64_t now_ns = clock_.now_ns();
        const Busy busy = look(now_ns);
        constexpr std::uint64_t scan_interval_ns = 1'000'000'000;
        if (!scanned_ns_ || now_ns - scanned_ns_ > scan_interval_ns) {
            scanned_ns_ = now_ns;
            if (!is_leased_by_others(directory_, gpu_, wait_.self)) return ignore("where nobody else has a lease");
        }
        if (seconds(now_ns - busy.changed_ns) > creation_lock_stall_s)
            return ignore(text("for more than ", creation_lock_stall_s, " s"));
        if (seconds(busy.waited_ns) > creation_lock_timeout_s)
            return ignore(text("without success for ", creation_lock_timeout_s, " s"));
        const double elapsed_s = wait_.waited_s + seconds(now_ns - began_ns_);
        if (elapsed_s >= request.timeout_s)
            throw LeaseTimeout(
                text("no GPU was ready within ", std::round(request.timeout_s * 10) / 10, " s: ", reason()),
                wait_.reserved_bytes, wait_.reserved_bytes);
        report(elapsed_s, now_ns);
        return false;
    }

    /// This process has the lock, so earlier observations are obsolete.
    void had() const {
        const std::lock_guard lock(busy_mutex);
        busy_locks.erase(path());
    }

  private:
    Busy look(std::uint64_t now_ns) {
        struct stat status {};
        ::fstat(file_, &status);
        const std::lock_guard lock(busy_mutex);
        Busy& busy = busy_locks.try_emplace(path(), Busy{status.st_mtim, now_ns, 0}).first->second;
        busy.waited_ns += now_ns - std::exchange(looked_ns_, now_ns);
        if (status.st_mtim.tv_sec != busy.touched.tv_sec || status.st_mtim.tv_nsec != busy.touched.tv_nsec)
            busy.touched = status.st_mtim, busy.changed_ns = now_ns;
        return busy;
    }
    std::string path() const { return directory_.path() + '/' + file_name(gpu_); }

    std::string reason() const {
        return text("contexts are created one at a time on each GPU, and ", holder_words(file_), " has the turn on ",
                    wait_.gpu);
    }
    bool ignore(const std::string& why) const {
        if (wait_.request.log)
            wait_.request.log(text(holder_words(file_), " has the turn to create a context on ", wait_.gpu, ", ", why,
                                   ": it is not waited for"));
        return true;
    }
    void report(double elapsed_s, std::uint64_t now_ns) {
        constexpr std::uint64_t interval_ns = 500'000'000;
        const bool first = reported_ns_ == 0;
        if (!first && now_ns - reported_ns_ < interval_ns) return;
        reported_ns_ = now_ns;
        if (first && wait_.request.log) wait_.request.log("waiting for a GPU: " + reason());
        if (wait_.request.on_wait) wait_.request.on_wait(elapsed_s, wait_.reserved_bytes, wait_.reserved_bytes);
    }

    const StateDir& directory_;
    const GpuId& gpu_;
    Clock& clock_;
    const CreationWait& wait_;
    const int file_;
    const std::uint64_t began_ns_;
    std::uint64_t looked_ns_, scanned_ns_ = 0, reported_ns_ = 0;
};

}  // namespace

std::shared_ptr<void> lock_context_creation(const StateDir& directory, const GpuId& gpu, Clock& clock,
                                            const CreationWait& wait) {
    if (directory.descriptor() < 0) return nullptr;
    Descriptor file = open_lock(directory, file_name(gpu));
    if (!file) return nullptr;
    Waiter waiter(directory, gpu, clock, wait, file.get());
    double pause_s = 0.001;
    // Polls instead of blocking: flock() has no timeout, and a stopped holder must not block other processes
    // permanently.
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EINTR && errno != EWOULDBLOCK) || waiter.should_ignore()) return nullptr;
        clock.wait(-1, pause_s);
        // Up to 10 ms: short compared with the 250 ms for a context, and a hundred waiters cost little. The order of
        // arrival is not kept.
        pause_s = std::min(2 * pause_s, 0.01);
    }
    ::futimens(file.get(), nullptr);  // waiters measure by the mtime whether the lock still changes hands
    waiter.had();
    auto lock = std::make_shared<CreationLock>();
    lock->file = std::move(file);
    return lock;
}

std::optional<CreationHolder> holder_of_context_creation(const StateDir& directory, const GpuId& gpu) {
    struct stat status {};
    if (::fstatat(directory.descriptor(), file_name(gpu).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    const unsigned pid = pid_with_flock(status);
    if (pid == 0) return {};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const double since_s =
        double(now.tv_sec - status.st_mtim.tv_sec) + double(now.tv_nsec - status.st_mtim.tv_nsec) / 1e9;
    return CreationHolder{pid, std::max(0.0, since_s)};
}

}  // namespace glint::gpu::lease
