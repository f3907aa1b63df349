// Acquires, writes and releases a slot.
//
// Two locks on one open file description guard a slot: byte 0 makes its owner unique, and byte occupancy + 1 shows that
// the owner of that occupancy is alive. The kernel drops both when the last descriptor closes, in particular when the
// process is killed, so there is no cleanup and no stale owner.
//
// Both are open file description locks (F_OFD_SETLK). Process locks (F_SETLK) would be lost with the first close of any
// other descriptor of the file in this process, as in notify_watchers() or a scan. A lock on a file that has lost its
// name would protect nothing. So a file is unlinked only if nobody owns it (remove_blocked()) or a failed attempt left
// it empty (replace()). publish() fails for a file without a name. A PID in the record proves nothing (namespaces,
// reuse).
// SPDX-License-Identifier: MIT
#include "gpu/lease/slot.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <random>

#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

/// Announces the owner of this occupancy as alive. Fails if another user holds a read lock on the byte, as every user
/// who can read the file can; another slot is then used.
bool lock_occupancy(int file, std::uint32_t occupancy) {
    struct flock lock = liveness_lock(occupancy);
    return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

/// Byte 0: mutual exclusion of the processes that try to acquire the slot.
bool lock_slot(int file) {
    struct flock lock = liveness_lock(0);
    lock.l_start = 0;
    return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

/// The slot has an owner, or another process holds a lock that would refuse ours. Works on a read-only descriptor.
bool is_locked(int file) {
    struct flock lock = liveness_lock(0);
    lock.l_start = 0;
    return ::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/// Whether the file may be overwritten: empty, or a slot file of any version. A link count other than 1 could mean that
/// another file of this user was linked under the name of a slot, and would be destroyed.
///
/// A kill after the creation leaves an empty file, a kill after ftruncate() a file of zeros: both are accepted and used
/// again. All files have their full size from the start, so a reader never finds half a record at the end.
bool is_slot_file(int file) {
    struct stat status {};
    if (::fstat(file, &status) != 0 || status.st_nlink != 1) return false;
    if (status.st_size == 0) return ::ftruncate(file, slot_file_bytes) == 0;
    std::uint64_t magic[2] = {};
    ::pread(file, &magic[0], 8, 0);
    ::pread(file, &magic[1], 8, copy_bytes);
    const bool written =
        magic[0] == Record::magic_number || magic[1] == Record::magic_number || (magic[0] | magic[1]) == 0;
    return written && status.st_size == slot_file_bytes;
}

/// Returns true if the entry of this name belongs to this user, or does not exist.
bool is_ours(const StateDir& directory, const SlotName& name) {
    struct stat status {};
    return ::fstatat(directory.descriptor(), name.text().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           status.st_uid == name.uid;
}

/// Removes the slot file of a dead owner if another user holds read locks on it, as any user who can read the file can
/// do without end. A live owner has write locks, so its file is not removed. A process that has just begun to take the
/// slot detects the removal in publish().
bool remove_blocked(const StateDir& directory, const SlotName& name) {
    const Descriptor file = open_owned(directory.descriptor(), name.text(), name.uid, O_RDONLY);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_size != slot_file_bytes) return false;
    struct flock all = liveness_lock(0);
    all.l_type = F_RDLCK;
    all.l_start = all.l_len = 0;  // to the end
    return ::fcntl(file.get(), F_OFD_GETLK, &all) == 0 && all.l_type == F_UNLCK &&
           ::unlinkat(directory.descriptor(), name.text().c_str(), 0) == 0;
}

/// Returns the last owner's record; nullopt in a new file, or if both copies are damaged: occupancies then begin at 0.
std::optional<Record> previous_record(int file) {
    unsigned char bytes[slot_file_bytes];
    if (::pread(file, bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return {};
    return latest(bytes);
}

}  // namespace

Slot::Slot(const StateDir& directory, SlotName name, Descriptor file)
    : directory_(&directory), name_(name), file_(std::move(file)), owner_(::getpid()) {
    struct stat status {};
    if (::fstat(file_.get(), &status) == 0) device_ = status.st_dev, inode_ = status.st_ino;
}

// The order of the steps matters. Byte 0 is locked before the record is read, so no other owner can come between. The
// byte of the new occupancy is locked before the first publish(), so the new record is alive from the moment it
// appears. Until then, readers see the old record, whose byte nobody holds: a killed holder's lease does not become the
// next owner's lease. A kill between the steps frees both locks and leaves the old record.
std::optional<Slot> Slot::take_named(const StateDir& directory, SlotName name, std::string& why_not) {
    // Closing a descriptor that was open for writing notifies all watchers, so probe read-only first.
    Descriptor file = open_owned(directory.descriptor(), name.text(), name.uid, O_RDONLY);
    if (file) {
        // Only a hint: lock_slot() decides between two processes that both find the slot free.
        if (is_locked(file.get())) return {};
        file = open_owned(directory.descriptor(), name.text(), name.uid, O_RDWR);
    } else if (errno == ENOENT) {
        // Not O_CREAT alone: in a sticky directory, the kernel refuses that flag for another user's file
        // (fs.protected_regular), and O_EXCL distinguishes a creation from an existing file.
        file = open_owned(directory.descriptor(), name.text(), name.uid, O_RDWR | O_CREAT | O_EXCL);
        if (!file && errno != EEXIST)
            why_not = text("no file can be created in ", directory.path(), ": ", std::strerror(errno));
        if (file) ::fchmod(file.get(), 0644);  // other users must be able to read it, whatever the umask
    }
    if (!file || !lock_slot(file.get()) || !is_slot_file(file.get())) return {};
    // From here on, the locks belong to this object: if it is not returned, its destruction closes the file and frees
    // the slot.
    Slot slot(directory, name, std::move(file));
    if (const auto before = previous_record(slot.file_.get())) {
        // The number continues, since readers use the copy with the higher number: if it restarted from 0, an old copy
        // would win over the new one.
        slot.record.sequence = before->sequence;
        slot.record.occupancy = before->occupancy + 1;
        slot.record.admissions = before->admissions;
        // admissions and known outlive their owners: overtakes by a process that has ended, and the cost of contexts
        // here.
        slot.record.known = before->known;
    }
    if (!lock_occupancy(slot.file_.get(), slot.record.occupancy)) return {};
    slot.record.pid = std::uint32_t(slot.owner_);
    slot.record.pid_namespace = pid_namespace();
    return slot;
}

std::optional<Slot> Slot::take(const StateDir& directory, std::string& why_not) {
    SlotName name{std::uint32_t(::geteuid()), 0};
    std::size_t not_ours = 0;
    for (; name.number < slots_per_user; ++name.number) {
        if (auto slot = take_named(directory, name, why_not); slot || !why_not.empty()) return slot;
        not_ours += !is_ours(directory, name);
    }
    const std::vector<std::uint32_t> random =
        not_ours ? directory.random_numbers(name.uid) : std::vector<std::uint32_t>();
    for (const std::uint32_t number : random) {
        name.number = number;
        if (auto slot = take_named(directory, name, why_not); slot || !why_not.empty()) return slot;
    }
    std::random_device draw;
    for (std::size_t k = random.size(); k < not_ours; ++k) {
        name.number = std::uniform_int_distribution<std::uint32_t>(first_random_number)(draw);
        if (auto slot = take_named(directory, name, why_not); slot || !why_not.empty()) return slot;
    }
    // All slots are used or blocked.
    std::vector<std::uint32_t> numbers(slots_per_user);
    std::iota(numbers.begin(), numbers.end(), 0U);
    numbers.insert(numbers.end(), random.begin(), random.end());
    for (const std::uint32_t number : numbers) {
        name.number = number;
        if (!remove_blocked(directory, name)) continue;
        if (auto slot = take_named(directory, name, why_not); slot || !why_not.empty()) return slot;
    }
    why_not = text("all ", slots_per_user, " slots of this user in ", directory.path(), " are taken");
    return {};
}

std::optional<Slot> Slot::replace(const StateDir& directory, const Slot& lost) {
    std::optional<Slot> slot;
    Descriptor file = open_owned(directory.descriptor(), lost.name_.text(), lost.name_.uid, O_RDWR | O_CREAT | O_EXCL);
    if (file) {
        ::fchmod(file.get(), 0644);
        if (lock_slot(file.get()) && is_slot_file(file.get()) && lock_occupancy(file.get(), lost.record.occupancy)) {
            slot.emplace(Slot(directory, lost.name_, std::move(file)));
            slot->record = lost.record;
        }
    }
    std::string why_not;
    if (!slot && (slot = take(directory, why_not))) {
        // Data of the file are kept; data of the lease are copied.
        Record was = slot->record;
        slot->record = lost.record;
        slot->record.sequence = was.sequence, slot->record.occupancy = was.occupancy;
        slot->record.admissions = was.admissions, slot->record.known = was.known;
    }
    if (!slot || slot->publish()) return slot;
    // For example, the file system is full. If an empty file of this name remained, the lease would lose its name at
    // the next attempt.
    if (slot->name_ == lost.name_) ::unlinkat(directory.descriptor(), lost.name_.text().c_str(), 0);
    return {};
}

// Overwrites the older copy, so a reader finds a valid record at any time. If killed in the middle of the write, this
// process leaves a copy with a wrong checksum, and readers use the other one. Nothing is synchronised to a disk:
// after a crash of the machine all owners are dead. st_nlink is 0 if the file was deleted: the write then succeeds, but
// nobody sees it.
bool Slot::publish() {
    if (!file_ || ::getpid() != owner_) return false;
    ++record.sequence;
    seal(record);
    const off_t place = record.sequence % 2 ? copy_bytes : 0;
    return ::pwrite(file_.get(), &record, sizeof record, place) == ssize_t(sizeof record) && is_linked();
}

bool Slot::is_linked() const {
    struct stat status {};
    return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 1;
}

bool Slot::is_visible() const {
    struct stat status {};
    return ::lstat((directory_->path() + '/' + name_.text()).c_str(), &status) == 0 && status.st_dev == device_ &&
           status.st_ino == inode_ && status.st_nlink == 1;
}

// Closing a second descriptor raises the event; the slot's own descriptor stays open, and keeps its locks.
void Slot::notify_watchers() const { open_owned(directory_->descriptor(), name_.text(), name_.uid, O_WRONLY); }

void Slot::release() {
    if (!file_) return;
    // `absent` takes effect for readers immediately. In a forked child the parent's lease continues; a program under
    // `glint lease` holds the slot by its inherited descriptor, so the record must remain unchanged.
    if (::getpid() == owner_ && !kept_for_child_) {
        record.state = State::absent;
        record.share_count = 0;
        publish();
    }
    // IN_CLOSE_WRITE wakes the watchers after the record was written. The last descriptor releases the locks.
    file_ = Descriptor();
}

// Clears FD_CLOEXEC. The child gets the same open file description, and with it both locks: killing the wrapper does
// not release a GPU that the program still uses.
int Slot::keep_for_child() {
    if (::fcntl(file_.get(), F_SETFD, 0) != 0) return -1;
    kept_for_child_ = true;
    return file_.get();
}

}  // namespace glint::gpu::lease
