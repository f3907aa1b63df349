// Opens the state directory and scans its slots.
// SPDX-License-Identifier: MIT
#include "gpu/lease/state_dir.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

constexpr int max_entries = 16384;
constexpr const char* prefix = "slot.";

std::string because(const char* what) { return text(what, ": ", std::strerror(errno)); }

/// The owner holds a write lock. F_OFD_GETLK only tests whether a read lock would succeed, and acquires nothing.
bool is_alive(int file, const Record& record) {
    struct flock lock = liveness_lock(record.occupancy);
    lock.l_type = F_RDLCK;
    return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::optional<Record> read_record(int file) {
    // A concurrent write can tear one copy. Both are torn only if two writes fall into one read, so retry.
    for (int attempt = 0; attempt < 3; ++attempt) {
        unsigned char bytes[slot_file_bytes];
        const ssize_t count = ::pread(file, bytes, sizeof bytes, 0);
        if (count != ssize_t(sizeof bytes)) return {};
        if (auto record = latest(bytes)) return record;
    }
    return {};
}

/// Appends the slot if it has a valid record.
void add_slot(int directory, const SlotName& name, std::vector<ScannedSlot>& slots) {
    const Descriptor file = open_owned(directory, name.text(), name.uid, O_RDONLY);
    if (!file) return;
    if (const auto record = read_record(file.get())) slots.push_back({name, is_alive(file.get(), *record), *record});
}

/// Without the sticky bit, every user who can write to the directory can delete the slot files of others.
std::string trouble(const struct stat& status) {
    const bool shared = status.st_mode & (S_IWGRP | S_IWOTH);
    if (shared && !(status.st_mode & S_ISVTX)) return "others can remove files in it: chmod +t it";
    return "";
}

}  // namespace

std::optional<SlotName> parse_slot_name(const char* name) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) != 0) return {};
    SlotName slot;
    const char *at = name + std::strlen(prefix), *end = name + std::strlen(name);
    const auto user = std::from_chars(at, end, slot.uid);
    if (user.ec != std::errc() || user.ptr == end || *user.ptr != '.') return {};
    const auto number = std::from_chars(user.ptr + 1, end, slot.number);
    if (number.ec != std::errc() || number.ptr != end || slot.number >= slots_per_user) return {};
    if (slot.text() != name) return {};  // "007" would be a second name for slot 7
    return slot;
}

std::string SlotName::text() const { return prefix + std::to_string(uid) + '.' + std::to_string(number); }

StateDir::StateDir(const std::string& path) : path_(path) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    constexpr mode_t for_all = 01777;
    int opened = ::open(path.c_str(), flags);
    if (opened < 0 && errno == ENOENT && ::mkdir(path.c_str(), 0700) == 0 &&
        (opened = ::open(path.c_str(), flags)) >= 0)
        ::fchmod(opened, for_all);  // mkdir() applies the umask
    else if (opened < 0 && errno == EEXIST)
        opened = ::open(path.c_str(), flags);  // another process created it meanwhile
    struct stat status {};
    Descriptor directory(opened);
    if (!directory || ::fstat(directory.get(), &status) != 0)
        why_not_ = because("it cannot be opened");
    else if (why_not_ = trouble(status);
             why_not_.empty() && ::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
        why_not_ = because("no file can be made in it");
    if (why_not_.empty())
        directory_ = std::move(directory), device_ = status.st_dev, inode_ = status.st_ino;
    else
        why_not_ = text("the directory of leases ", path, " (GLINT_LEASE_DIR) cannot be used: ", why_not_);
}

bool StateDir::is_current() const {
    struct stat now {};
    return directory_ && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

StateDir::Scan StateDir::scan() const {
    Scan found;
    // A separate descriptor: readdir() advances the offset of the open file description, which threads would share.
    const int copy = directory_ ? ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
    if (!listing) {
        if (copy >= 0) ::close(copy);
        found.complete = false;
        return found;
    }
    std::vector<SlotName> names;
    int entries = 0;
    while (const dirent* entry = ::readdir(listing)) {
        if (++entries > max_entries) {
            found.complete = false;
            break;
        }
        const auto name = parse_slot_name(entry->d_name);
        if (name && (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)) names.push_back(*name);
    }
    ::closedir(listing);
    if (!found.complete) return found;
    std::sort(names.begin(), names.end());
    found.slots.reserve(names.size());
    for (const SlotName& name : names) add_slot(directory_.get(), name, found.slots);
    return found;
}

std::optional<ScannedSlot> StateDir::find(const SlotName& name) const {
    std::vector<ScannedSlot> found;
    add_slot(directory_.get(), name, found);
    return found.empty() ? std::nullopt : std::optional<ScannedSlot>(found.front());
}

struct flock liveness_lock(std::uint32_t occupancy) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = off_t(occupancy) + 1;  // byte 0 is the lock of the slot itself
    lock.l_len = 1;
    return lock;
}

Descriptor open_owned(int directory, const std::string& name, std::uint32_t uid, int flags) {
    Descriptor file(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != uid ||
        status.st_nlink != 1)
        return {};
    return file;
}

}  // namespace glint::gpu::lease
