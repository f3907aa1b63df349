// The folder, the sockets and the locks of a user's warm workers.
// SPDX-License-Identifier: MIT
#include "warm_worker/worker_sockets.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/build_identity.hpp"
#include "glint/environment.hpp"
#include "gpu/lease/state_dir.hpp"
#include "gpu/process.hpp"

extern char** environ;

namespace glint::warm_worker {
namespace {

constexpr std::string_view socket_ending = ".socket", lock_ending = ".lock";
constexpr std::size_t max_names = 256;

/// Returns the FNV-1a hash. A collision only costs a greeting, which shows that the worker has another build or lease.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

/// Returns the variables by which the driver, its loader and glint choose and limit GPUs.
std::string gpu_variables() {
    std::vector<std::string> found;
    for (char** variable = environ; variable && *variable; ++variable) {
        const std::string_view text = *variable;
        for (const std::string_view prefix : {"CUDA_", "NVIDIA_", "LD_", "GLINT_GPU_", "GLINT_LEASES_PER_USER"})
            if (text.starts_with(prefix) && !text.starts_with("GLINT_GPU_WORKER=")) found.emplace_back(text);
    }
    std::sort(found.begin(), found.end());
    std::string all;
    for (const std::string& variable : found) all += variable + '\n';
    return all;
}

std::optional<sockaddr_un> address_of(int folder, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Uses the descriptor, so that the folder is the one that was checked, and the path may have any length.
    const std::string path = fmt::format("/proc/self/fd/{}/{}{}", folder, name, socket_ending);
    if (path.size() >= sizeof address.sun_path) return {};
    path.copy(address.sun_path, path.size());
    return address;
}

Descriptor new_socket() { return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

std::string to_name(const WorkerSettings& settings) {
    std::string all = fmt::format("{}\n{}\n{}\n{}\n", build_identity(), settings.gpu_memory_bytes, settings.batch_size,
                                  gpu::pid_namespace());
    // programs may have additional models
    for (const PsfModel model : psf_models()) all += std::string(to_name(model)) + '\n';
    all += environment::isa() + '\n';
    return fmt::format("{:016x}", hash_of(all + gpu::content_of("/proc/self/cgroup") + gpu_variables()));
}

WorkerSockets::WorkerSockets(const std::string& lease_directory, IfMissing if_missing) {
    const gpu::lease::StateDir directory(lease_directory);
    if (why_not_ = directory.why_not(); !why_not_.empty()) return;
    folder_ = gpu::lease::open_own_folder(directory, "worker", 0700, if_missing, why_not_);
}

Connection WorkerSockets::connect(const std::string& name) const {
    const auto address = address_of(folder_.get(), name);
    Descriptor socket = new_socket();
    if (!address || !socket ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
        return {};
    Connection connection(std::move(socket));
    return connection.own_peer() ? std::move(connection) : Connection();
}

// Between opening and locking the file, a worker that ended may have removed it. A lock on that file would protect
// nothing.
Descriptor WorkerSockets::lock(const std::string& name) const {
    const std::string file_name = name + std::string(lock_ending);
    Descriptor file(
        ::openat(folder_.get(), file_name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat locked {
    }, there{};
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(file.get(), &locked) != 0 ||
        ::fstatat(folder_.get(), file_name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
        locked.st_ino != there.st_ino || locked.st_dev != there.st_dev)
        return {};
    return file;
}

Descriptor WorkerSockets::listen(const std::string& name) const {
    const auto address = address_of(folder_.get(), name);
    Descriptor socket = new_socket();
    if (!address || !socket || ::fchmod(socket.get(), 0600) != 0) return {};
    const std::string file_name = name + std::string(socket_ending);
    if (::unlinkat(folder_.get(), file_name.c_str(), 0) != 0 && errno != ENOENT) return {};
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
        ::listen(socket.get(), max_waiting) != 0)
        return {};
    return socket;
}

void WorkerSockets::remove(const std::string& name) const {
    // A remaining file does no harm: the next worker of that name replaces it.
    (void)::unlinkat(folder_.get(), (name + std::string(socket_ending)).c_str(), 0);
    (void)::unlinkat(folder_.get(), (name + std::string(lock_ending)).c_str(), 0);
}

std::vector<std::string> WorkerSockets::names() const {
    std::vector<std::string> found;
    const int copy = folder_ ? ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
    if (!listing) {
        if (copy >= 0) ::close(copy);
        return found;
    }
    while (const dirent* entry = ::readdir(listing)) {
        std::string_view name = entry->d_name;
        if (!name.ends_with(socket_ending) || found.size() == max_names) continue;
        name.remove_suffix(socket_ending.size());
        found.emplace_back(name);
    }
    ::closedir(listing);
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace glint::warm_worker
