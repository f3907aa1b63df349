// Reads processes from /proc.
// SPDX-License-Identifier: MIT
#include "gpu/process.hpp"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace glint::gpu {
namespace {

std::string folder_of(unsigned pid) { return "/proc/" + std::to_string(pid); }

}  // namespace

// The kernel reports an error (ESRCH) for an open file of a process that has ended. read() catches the exception that
// the buffer then throws; a std::istreambuf_iterator would not.
std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string all;
    char part[4096];
    do {
        file.read(part, sizeof part);
        all.append(part, std::size_t(file.gcount()));
    } while (file);
    return file.bad() ? std::string() : all;
}

std::optional<ProcessInfo> process_info(unsigned pid) {
    const auto owner = owner_of(pid);
    if (!owner) return {};
    const std::string words = content_of(folder_of(pid) + "/stat");      // PID (NAME) STATE PARENT ...
    const std::size_t open = words.find('('), close = words.rfind(')');  // the name may contain brackets
    if (open == words.npos || close == words.npos) return {};
    ProcessInfo info;
    info.uid = *owner;
    info.name = words.substr(open + 1, close - open - 1);
    std::istringstream rest(words.substr(close + 1));
    if (!(rest >> info.state >> info.parent)) return {};
    return info;
}

bool has_ended(unsigned pid) { return ::kill(pid_t(pid), 0) != 0 && errno == ESRCH; }

std::optional<std::uint32_t> owner_of(unsigned pid) {
    struct stat status {};
    if (::stat(folder_of(pid).c_str(), &status) != 0) return {};
    return status.st_uid;
}

std::uint32_t pid_namespace() {
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? std::uint32_t(status.st_ino) : 0;
}

bool in_first_pid_namespace() {
    return pid_namespace() == 4026531836u;  // the kernel's constant
}

std::vector<unsigned> writers_of(const std::string& file) {
    struct stat wanted {};
    if (::stat(file.c_str(), &wanted) != 0) return {};
    const auto has = [&](const std::filesystem::path& descriptor) {
        struct stat link {};
        struct stat status {};
        return ::lstat(descriptor.c_str(), &link) == 0 && (link.st_mode & S_IWUSR) &&  // proc(5): open for writing
               ::stat(descriptor.c_str(), &status) == 0 && status.st_dev == wanted.st_dev &&
               status.st_ino == wanted.st_ino;
    };
    std::vector<unsigned> pids;
    std::error_code ended;  // a process may end meanwhile, or be another user's
    for (std::filesystem::directory_iterator process("/proc", ended), end; !ended && process != end;
         process.increment(ended)) {
        const std::string name = process->path().filename().string();
        unsigned pid = 0;
        const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || last != name.data() + name.size() || pid == unsigned(::getpid())) continue;
        std::error_code hidden;
        const std::filesystem::directory_iterator descriptors(process->path() / "fd", hidden);
        bool found = false;
        for (auto fd = descriptors; !hidden && !found && fd != std::filesystem::directory_iterator();
             fd.increment(hidden))
            found = has(fd->path());
        if (found) pids.push_back(pid);
    }
    return pids;
}

bool is_stopped(unsigned pid, std::uint32_t uid) {
    const auto info = process_info(pid);
    return info && info->uid == uid && (info->state == 'T' || info->state == 't');
}

std::vector<unsigned> lineage(unsigned pid) {
    constexpr std::size_t max_generations = 256;  // bounds the loop if pids are reused meanwhile
    std::vector<unsigned> pids;
    while (pid != 0 && pids.size() < max_generations) {
        pids.push_back(pid);
        const auto info = process_info(pid);
        pid = info ? info->parent : 0;
    }
    return pids;
}

bool descends_from(unsigned pid, const std::set<unsigned>& pids) {
    const std::vector<unsigned> family = lineage(pid);
    return std::any_of(family.begin(), family.end(), [&](unsigned of) { return pids.contains(of); });
}

bool was_started_with(unsigned pid, const std::string& variable) {
    const std::string all = '\0' + content_of(folder_of(pid) + "/environ");
    return all.find('\0' + variable + '\0') != all.npos;
}

std::string user_text(std::uint32_t uid) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> words{};
    ::getpwuid_r(uid, &entry, words.data(), words.size(), &found);
    return found ? std::to_string(uid) + " (" + found->pw_name + ")" : std::to_string(uid);
}

/// The server creates its pipe directory where clients look for it.
bool mps_may_run() {
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct stat status {};
    return ::stat(folder && *folder ? folder : "/tmp/nvidia-mps", &status) == 0;
}

bool is_mps_server(unsigned pid) {
    const auto info = process_info(pid);
    return info && info->name.starts_with("nvidia-cuda-mps");  // the kernel truncates names to 15 characters
}

}  // namespace glint::gpu
