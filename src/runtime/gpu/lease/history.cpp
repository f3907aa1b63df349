// Writes and reads the history of leases.
// SPDX-License-Identifier: MIT
#include "gpu/lease/history.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "gpu/process.hpp"

namespace glint::gpu::lease {
namespace {

constexpr std::string_view history_kind = "history";
constexpr const char *history_file = "leases", *old_history_file = "leases.old", *lock_file = "lock";

enum class HistoryEvent : std::uint32_t { begin, end };

/// In native byte order: the directory belongs to one machine.
struct HistoryEntry {
    static constexpr std::uint64_t magic_number = 0x3174736968746c67;  // "glthist1"

    std::uint64_t magic = magic_number;
    HistoryEvent event = HistoryEvent::begin;
    std::uint32_t pid = 0;
    std::uint32_t slot = 0, occupancy = 0;  ///< identify the lease of this user
    std::int64_t time_ns = 0;               ///< of the system's clock
    std::uint64_t reserved_bytes = 0;
    char gpu[48] = {}, program[16] = {};  ///< ended by a zero
};
static_assert(std::is_trivially_copyable_v<HistoryEntry> && sizeof(HistoryEntry) == 104);

/// Renames a full file, unless another process is doing so or has done so. The lock is on a file that no other user can
/// open: otherwise any user could hold it, and the file would grow without end.
void make_room(const Descriptor& folder, std::uint32_t uid, const Descriptor& file) {
    struct stat open {
    }, named{};
    if (::fstat(file.get(), &open) != 0 || std::size_t(open.st_size) < history_entries * sizeof(HistoryEntry)) return;
    const Descriptor lock = open_owned(folder.get(), lock_file, uid, O_RDWR | O_CREAT, 0600);
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstatat(folder.get(), history_file, &named, AT_SYMLINK_NOFOLLOW) != 0 || named.st_ino != open.st_ino)
        return;
    ::renameat(folder.get(), history_file, folder.get(), old_history_file);
}

/// Appends in one write, which the kernel does not interleave with others.
void append_entries(const Descriptor& folder, std::uint32_t uid, std::span<const HistoryEntry> entries) {
    const Descriptor file = open_owned(folder.get(), history_file, uid, O_WRONLY | O_APPEND | O_CREAT);
    if (!file || ::fchmod(file.get(), 0644) != 0) return;  // other users must be able to read it, whatever the umask
    if (::write(file.get(), entries.data(), entries.size_bytes()) > 0) make_room(folder, uid, file);
}

HistoryEntry entry_of(HistoryEvent event, const Slot& slot) {
    HistoryEntry entry;
    entry.event = event;
    entry.pid = slot.record.pid;
    entry.slot = slot.name().number, entry.occupancy = slot.record.occupancy;
    entry.time_ns = system_clock_ns();
    return entry;
}

template <std::size_t size>
void copy_text(const std::string& text, char (&to)[size]) {
    text.copy(to, size - 1);
}

template <std::size_t size>
std::string text_in(const char (&from)[size]) {
    return std::string(from, ::strnlen(from, size));
}

/// Returns the newest entries of a file, up to the bound.
std::vector<HistoryEntry> read_file(const Descriptor& folder, const char* name, std::uint32_t uid) {
    const Descriptor file = open_owned(folder.get(), name, uid, O_RDONLY);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return {};
    const std::size_t there = std::size_t(status.st_size) / sizeof(HistoryEntry);
    std::vector<HistoryEntry> entries(history_entries + Record::max_shares);  // the last write may go beyond
    const std::size_t first = there - std::min(there, entries.size());
    const ssize_t count =
        ::pread(file.get(), entries.data(), entries.size() * sizeof(HistoryEntry), off_t(first * sizeof(HistoryEntry)));
    entries.resize(count > 0 ? std::size_t(count) / sizeof(HistoryEntry) : 0);
    std::erase_if(entries, [](const HistoryEntry& entry) { return entry.magic != HistoryEntry::magic_number; });
    return entries;
}

/// Reads all folders that the user owns. The entries of each folder are in order of time.
std::vector<HistoryEntry> read_entries(const StateDir& directory, std::uint32_t uid) {
    std::vector<HistoryEntry> all;
    for (const std::string& name : directory.folders(history_kind, uid)) {
        const Descriptor folder(::openat(directory.descriptor(), name.c_str(),
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
        if (!folder) continue;
        for (const char* file : {old_history_file, history_file}) {
            const std::vector<HistoryEntry> entries = read_file(folder, file, uid);
            all.insert(all.end(), entries.begin(), entries.end());
        }
    }
    return all;
}

std::set<std::uint32_t> users_with_history(const StateDir& directory) {
    std::set<std::uint32_t> users;
    const std::string prefix = std::string(history_kind) + '.';
    for (const std::string& name : directory.names_with(prefix).value_or(std::vector<std::string>{})) {
        std::uint32_t uid = 0;
        const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
        const auto [rest, error] = std::from_chars(begin, end, uid);
        struct stat status {};
        const bool is_named = error == std::errc() && (rest == end || *rest == '.');
        if (is_named && ::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode) && status.st_uid == uid)  // any user could create this name
            users.insert(uid);
    }
    return users;
}

/// Returns the leases of one user.
std::vector<PastLease> read_leases(const StateDir& directory, std::uint32_t uid) {
    std::vector<PastLease> leases;
    using Name = std::pair<std::uint32_t, std::uint32_t>;  // slot and occupancy; a new directory counts from 0 again
    std::map<Name, std::vector<std::size_t>> open;         // leases that began together and have no end yet
    for (const HistoryEntry& entry : read_entries(directory, uid)) {
        std::vector<std::size_t>& same = open[{entry.slot, entry.occupancy}];
        if (entry.event == HistoryEvent::begin) {
            if (!same.empty() && leases[same[0]].began_ns != entry.time_ns) same.clear();
            same.push_back(leases.size());
            leases.push_back({.uid = uid,
                              .pid = entry.pid,
                              .program = text_in(entry.program),
                              .gpu = text_in(entry.gpu),
                              .reserved_bytes = entry.reserved_bytes,
                              .began_ns = entry.time_ns,
                              .ended_ns = {}});
        } else {
            for (const std::size_t k : same) leases[k].ended_ns = std::max(entry.time_ns, leases[k].began_ns);
            same.clear();
        }
    }
    for (const auto& [name, same] : open) {
        if (same.empty()) continue;
        const auto slot = directory.find({uid, name.first});
        const bool lasts = slot && slot->alive && slot->record.occupancy == name.second;
        for (const std::size_t k : same) leases[k].lasts = lasts;
    }
    return leases;
}

}  // namespace

void note_begin(const StateDir& directory, const Slot& slot, std::span<const LeasedDevice> devices) noexcept try {
    std::string why_not;
    const Descriptor folder = open_own_folder(directory, history_kind, 0755, IfMissing::create, why_not);
    if (!folder) return;
    std::vector<HistoryEntry> entries(devices.size(), entry_of(HistoryEvent::begin, slot));
    for (std::size_t k = 0; k < entries.size(); ++k) {
        entries[k].reserved_bytes = slot.record.shares[k].reserved_bytes;
        copy_text(devices[k].uuid, entries[k].gpu);
        if (const auto self = process_info(unsigned(::getpid()))) copy_text(self->name, entries[k].program);
    }
    append_entries(folder, slot.name().uid, entries);
} catch (...) {
}

void note_end(const StateDir& directory, const Slot& slot) noexcept try {
    const HistoryEntry entry = entry_of(HistoryEvent::end, slot);
    std::string why_not;
    if (const Descriptor folder = open_own_folder(directory, history_kind, 0755, IfMissing::leave, why_not))
        append_entries(folder, slot.name().uid, {&entry, 1});
} catch (...) {
}

std::vector<PastLease> past_leases(const StateDir& directory) {
    std::vector<PastLease> all;
    constexpr std::int64_t day_ns = std::int64_t(86400) * 1'000'000'000;
    const std::int64_t now_ns = system_clock_ns(), oldest_ns = now_ns - history_days * day_ns;
    for (const std::uint32_t uid : users_with_history(directory))
        for (PastLease& lease : read_leases(directory, uid))
            if (lease.began_ns >= oldest_ns && lease.began_ns < now_ns + day_ns) all.push_back(std::move(lease));
    std::stable_sort(all.begin(), all.end(),
                     [](const PastLease& a, const PastLease& b) { return a.began_ns < b.began_ns; });
    return all;
}

}  // namespace glint::gpu::lease
