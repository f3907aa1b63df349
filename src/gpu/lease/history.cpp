// Writes and reads the history of leases.
// SPDX-License-Identifier: MIT
#include "gpu/lease/history.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/system_clock.hpp"
#include "gpu/process.hpp"

namespace glint::gpu::lease {
namespace {

constexpr std::string_view history_prefix = "history.";
constexpr const char *history_file = "leases", *old_history_file = "leases.old";

enum class HistoryEvent : std::uint32_t { begin, end };

/// In native byte order: the directory belongs to one machine.
struct HistoryEntry {
    static constexpr std::uint64_t magic_number = 0x3174736968746c67;  // "glthist1"

    std::uint64_t magic = magic_number;
    HistoryEvent event = HistoryEvent::begin;
    std::uint32_t pid = 0;
    std::uint32_t slot = 0, occupancy = 0;  ///< which lease of this user it is
    std::int64_t time_ns = 0;               ///< of the system's clock
    std::uint64_t reserved_bytes = 0;
    char gpu[48] = {}, program[16] = {};  ///< ended by a zero
};
static_assert(std::is_trivially_copyable_v<HistoryEntry> && sizeof(HistoryEntry) == 104);

std::string history_folder(std::uint32_t uid) { return std::string(history_prefix) + std::to_string(uid); }

/// Nothing where it does not exist or is another user's.
Descriptor open_history(const StateDir& directory, std::uint32_t uid) {
    Descriptor folder(::openat(directory.descriptor(), history_folder(uid).c_str(),
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_uid != uid) return {};
    return folder;
}

/// Gives a full file its other name, unless another process is about to, or has done so.
void make_room(const Descriptor& folder, const Descriptor& file) {
    struct stat open {
    }, named{};
    if (::fstat(file.get(), &open) != 0 || std::size_t(open.st_size) < history_entries * sizeof(HistoryEntry) ||
        ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstatat(folder.get(), history_file, &named, AT_SYMLINK_NOFOLLOW) != 0 || named.st_ino != open.st_ino)
        return;
    ::renameat(folder.get(), history_file, folder.get(), old_history_file);
}

/// As one write, which the kernel appends as a whole.
void append_entries(const Descriptor& folder, std::uint32_t uid, std::span<const HistoryEntry> entries) {
    const Descriptor file = open_owned(folder.get(), history_file, uid, O_WRONLY | O_APPEND | O_CREAT);
    if (!file || ::fchmod(file.get(), 0644) != 0) return;  // others read it, whatever the umask
    if (::write(file.get(), entries.data(), entries.size_bytes()) > 0) make_room(folder, file);
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

std::vector<HistoryEntry> read_entries(const Descriptor& folder, std::uint32_t uid) {
    std::vector<HistoryEntry> all;
    for (const char* name : {old_history_file, history_file}) {
        const Descriptor file = open_owned(folder.get(), name, uid, O_RDONLY);
        if (!file) continue;
        std::vector<HistoryEntry> some(history_entries + Record::max_shares);  // the last write may go beyond
        const ssize_t count = ::pread(file.get(), some.data(), some.size() * sizeof(HistoryEntry), 0);
        some.resize(count > 0 ? std::size_t(count) / sizeof(HistoryEntry) : 0);
        std::copy_if(some.begin(), some.end(), std::back_inserter(all),
                     [](const HistoryEntry& entry) { return entry.magic == HistoryEntry::magic_number; });
    }
    return all;
}

std::vector<std::uint32_t> users_with_history(const StateDir& directory) {
    std::vector<std::uint32_t> users;
    constexpr int most_entries = 16384;
    DIR* listing = ::opendir(directory.path().c_str());
    if (!listing) return users;
    for (int k = 0; k < most_entries; ++k) {
        const dirent* entry = ::readdir(listing);
        if (!entry) break;
        std::string_view name = entry->d_name;
        if (!name.starts_with(history_prefix)) continue;
        name.remove_prefix(history_prefix.size());
        std::uint32_t uid = 0;
        const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), uid);
        if (error == std::errc() && history_folder(uid) == entry->d_name) users.push_back(uid);
    }
    ::closedir(listing);
    return users;
}

/// One user's.
std::vector<PastLease> leases_of(const StateDir& directory, std::uint32_t uid) {
    std::vector<PastLease> leases;
    const Descriptor folder = open_history(directory, uid);
    if (!folder) return leases;
    using Name =
        std::pair<std::uint32_t, std::uint32_t>;    // slot and occupancy, which a new directory counts from 0 again
    std::map<Name, std::vector<std::size_t>> open;  // leases of one beginning without an end
    for (const HistoryEntry& entry : read_entries(folder, uid)) {
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
    const std::uint32_t uid = slot.name().uid;
    const std::string name = history_folder(uid);
    if (::mkdirat(directory.descriptor(), name.c_str(), 0755) == 0)
        ::fchmodat(directory.descriptor(), name.c_str(), 0755, 0);  // mkdirat() applies the umask
    const Descriptor folder = open_history(directory, uid);
    if (!folder) return;
    std::vector<HistoryEntry> entries(devices.size(), entry_of(HistoryEvent::begin, slot));
    for (std::size_t k = 0; k < entries.size(); ++k) {
        entries[k].reserved_bytes = slot.record.shares[k].reserved_bytes;
        copy_text(devices[k].uuid, entries[k].gpu);
        if (const auto self = process_info(unsigned(::getpid()))) copy_text(self->name, entries[k].program);
    }
    append_entries(folder, uid, entries);
} catch (...) {
}

void note_end(const StateDir& directory, const Slot& slot) noexcept try {
    const HistoryEntry entry = entry_of(HistoryEvent::end, slot);
    if (const Descriptor folder = open_history(directory, slot.name().uid))
        append_entries(folder, slot.name().uid, {&entry, 1});
} catch (...) {
}

std::vector<PastLease> past_leases(const StateDir& directory) {
    std::vector<PastLease> all;
    constexpr std::int64_t day_ns = std::int64_t(86400) * 1'000'000'000;
    const std::int64_t now_ns = system_clock_ns(), oldest_ns = now_ns - history_days * day_ns;
    for (const std::uint32_t uid : users_with_history(directory))
        for (PastLease& lease : leases_of(directory, uid))
            if (lease.began_ns >= oldest_ns && lease.began_ns < now_ns + day_ns) all.push_back(std::move(lease));
    std::stable_sort(all.begin(), all.end(),
                     [](const PastLease& a, const PastLease& b) { return a.began_ns < b.began_ns; });
    return all;
}

}  // namespace glint::gpu::lease
