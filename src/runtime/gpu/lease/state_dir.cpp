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
#include <random>

#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

/// Any user can create files in the directory. Reading this many files takes 0.3 s; a claim is stale after 2 s.
constexpr std::size_t max_entries = 262144;
constexpr std::size_t max_slots_of_user = 4 * slots_per_user, max_folders_of_user = 4;
constexpr const char* prefix = "slot.";

std::string because(const char* what) { return text(what, ": ", std::strerror(errno)); }

/// The owner holds a write lock. F_OFD_GETLK tests whether a read lock would succeed, without acquiring it.
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

/// Returns the owner of the entry itself, even if it is a link; nullopt if there is no entry.
std::optional<std::uint32_t> owner_of_entry(int directory, const std::string& name) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    return std::uint32_t(status.st_uid);
}

std::string folder_name(std::string_view kind, std::uint32_t uid) {
    return std::string(kind) + '.' + std::to_string(uid);
}

/// Returns 16 unpredictable digits.
std::string random_text() {
    std::random_device random;
    std::uint64_t number = (std::uint64_t(random()) << 32) | random();
    std::string digits;
    for (int k = 0; k < 16; ++k, number >>= 4) digits += "0123456789abcdef"[number & 15];
    return digits;
}

/// Without the sticky bit, every user who can write to the directory can delete the slot files of other users.
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
    if (number.ec != std::errc() || number.ptr != end || !is_slot_number(slot.number)) return {};
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
        why_not_ = because("no file can be created in it");
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
    const auto found = names_with(prefix);
    if (!found) return {.slots = {}, .complete = false};
    std::vector<SlotName> names;
    names.reserve(found->size());
    for (const std::string& text : *found)
        if (const auto name = parse_slot_name(text.c_str())) names.push_back(*name);
    std::sort(names.begin(), names.end());
    Scan scanned;
    std::size_t before = 0;  // slots of the users before this one
    for (std::size_t k = 0; k < names.size(); ++k) {
        if (k > 0 && names[k].uid != names[k - 1].uid) before = scanned.slots.size();
        if (scanned.slots.size() - before < max_slots_of_user) add_slot(directory_.get(), names[k], scanned.slots);
    }
    return scanned;
}

std::optional<std::vector<std::string>> StateDir::names_with(std::string_view wanted) const {
    // A separate descriptor: readdir() advances the offset of the open file description, which threads would share.
    const int copy = directory_ ? ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
    if (!listing) {
        if (copy >= 0) ::close(copy);
        return {};
    }
    std::vector<std::string> names;
    std::size_t entries = 0;
    while (const dirent* entry = ::readdir(listing))
        if (++entries > max_entries)
            break;
        else if (std::string_view(entry->d_name).starts_with(wanted))
            names.emplace_back(entry->d_name);
    ::closedir(listing);
    if (entries > max_entries) return {};
    return names;
}

std::optional<ScannedSlot> StateDir::find(const SlotName& name) const {
    std::vector<ScannedSlot> found;
    add_slot(directory_.get(), name, found);
    return found.empty() ? std::nullopt : std::optional<ScannedSlot>(found.front());
}

std::vector<std::uint32_t> StateDir::random_numbers(std::uint32_t uid) const {
    std::vector<std::uint32_t> numbers;
    for (const std::string& text : names_with(prefix).value_or(std::vector<std::string>{})) {
        const auto name = parse_slot_name(text.c_str());
        if (!name || name->uid != uid || name->number < first_random_number) continue;
        if (owner_of_entry(directory_.get(), text) == uid) numbers.push_back(name->number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::vector<std::string> StateDir::folders(std::string_view kind, std::uint32_t uid) const {
    const std::string plain = folder_name(kind, uid);
    std::vector<std::string> found;
    for (std::string& name : names_with(plain).value_or(std::vector<std::string>{})) {
        const bool is_of_kind = name == plain || name.starts_with(plain + '.');
        struct stat status {};
        if (is_of_kind && ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode) && status.st_uid == uid)
            found.push_back(std::move(name));
    }
    std::sort(found.begin(), found.end());  // the plain name comes first
    if (found.size() > max_folders_of_user) found.resize(max_folders_of_user);
    return found;
}

Descriptor open_own_folder(const StateDir& directory, std::string_view kind, mode_t mode, IfMissing if_missing,
                           std::string& why_not) {
    const std::uint32_t uid = std::uint32_t(::geteuid());
    std::string name = folder_name(kind, uid);
    if (owner_of_entry(directory.descriptor(), name) != uid) {
        // The folder does not exist, or belongs to another user. A folder with a random name stays in use after that
        // user has removed the blocking folder.
        if (!directory.names_with(name)) {
            why_not = text(directory.path(),
                           " cannot be read, or has too many files: an administrator must remove those of no lease "
                           "(glint doctor)");
            return {};
        }
        std::vector<std::string> own = directory.folders(kind, uid);
        for (const std::string& candidate : {name, name + '.' + random_text()}) {
            if (!own.empty() || if_missing == IfMissing::leave) break;
            if (::mkdirat(directory.descriptor(), candidate.c_str(), mode) != 0) continue;
            ::fchmodat(directory.descriptor(), candidate.c_str(), mode, 0);  // mkdirat() applies the umask
            own = directory.folders(kind, uid);  // the folder of another process, if that name comes first
            if (own.empty()) own.push_back(candidate);
        }
        if (!own.empty()) name = own.front();
    }
    Descriptor folder(
        ::openat(directory.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!folder || ::fstat(folder.get(), &status) != 0)
        why_not = text(directory.path(), '/', name, " cannot be opened: ", std::strerror(errno));
    else if (status.st_uid != uid || (status.st_mode & 0777 & ~mode) != 0)
        why_not = text(directory.path(), '/', name, " belongs to user ", status.st_uid, " and has mode ", std::oct,
                       status.st_mode & 07777, ": it must be this user's own, with mode ", mode,
                       ", so that no other user can change what is in it");
    else
        return folder;
    return {};
}

struct flock liveness_lock(std::uint32_t occupancy) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = off_t(occupancy) + 1;  // byte 0 is the lock of the slot itself
    lock.l_len = 1;
    return lock;
}

Descriptor open_owned(int directory, const std::string& name, std::uint32_t uid, int flags, mode_t mode) {
    Descriptor file(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != uid ||
        status.st_nlink != 1)
        return {};
    return file;
}

}  // namespace glint::gpu::lease
