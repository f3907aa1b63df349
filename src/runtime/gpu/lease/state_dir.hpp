// The shared state directory: one slot file per participant. Any user may write there, so entries are validated,
// limited in number, and ignored if malformed.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/lease/descriptor.hpp"
#include "gpu/lease/record.hpp"

namespace glint::gpu::lease {

/// The name of a slot file: "slot.UID.NUMBER". The file is ignored unless that user owns it.
///
/// A user's numbers begin at 0. If other users have created files of these names, numbers from first_random_number on
/// are drawn at random, so that they cannot be predicted.
struct SlotName {
    std::uint32_t uid = 0, number = 0;
    auto operator<=>(const SlotName&) const = default;
    std::string text() const;
};
constexpr std::uint32_t slots_per_user = 1024, first_random_number = 65536;
constexpr bool is_slot_number(std::uint32_t number) { return number < slots_per_user || number >= first_random_number; }
/// Returns nullopt if the text is not the name of a slot.
std::optional<SlotName> parse_slot_name(const char* name);

/// A slot with a valid record. If it is not alive, only its admissions and measured values are used.
struct ScannedSlot {
    SlotName name;
    bool alive = false;
    Record record;
};

class StateDir {
  public:
    /// Opens the directory; creates it, with mode 01777, if it is missing. Does not throw on failure: see why_not().
    explicit StateDir(const std::string& path);

    /// Why the directory cannot be used, with the remedy; empty: usable.
    const std::string& why_not() const { return why_not_; }
    const std::string& path() const { return path_; }
    int descriptor() const { return directory_.get(); }
    /// Whether path() is still this directory. False if the directory was removed or replaced.
    bool is_current() const;

    /// Whether both are the same directory.
    bool is_same(const StateDir& other) const { return device_ == other.device_ && inode_ == other.inode_; }

    /// All valid slots, ordered by name. If the directory holds too many entries, the result contains no slots and
    /// `complete` is false: a partial view could overcommit a GPU. Opens files read-only and takes no lock.
    struct Scan {
        std::vector<ScannedSlot> slots;
        bool complete = true;
    };
    Scan scan() const;
    /// Returns one slot; nullopt if it has no valid record.
    std::optional<ScannedSlot> find(const SlotName& name) const;
    /// The numbers from first_random_number on of the slot files that this user owns.
    std::vector<std::uint32_t> random_numbers(std::uint32_t uid) const;
    /// The user's folders of a kind, "KIND.UID" and "KIND.UID.RANDOM", by owner and name. At most a few; use the first
    /// one.
    std::vector<std::string> folders(std::string_view kind, std::uint32_t uid) const;
    /// The names of all entries; nullopt if there are more than max_entries, or they cannot be read.
    std::optional<std::vector<std::string>> names_with(std::string_view prefix) const;

  private:
    std::string path_, why_not_;
    Descriptor directory_;
    dev_t device_ = 0;  // with inode_: identifies the directory, while it is open
    ino_t inode_ = 0;
};

/// The lock that shows that the owner of a slot is alive: an open file description lock (F_OFD_SETLK), which the kernel
/// drops with the last copy of the descriptor, however the process ends.
struct flock liveness_lock(std::uint32_t occupancy);

/// Opens a regular file that `uid` owns and that has one link; -1 for anything else. Never blocks, on a FIFO or on a
/// file lease (fcntl F_SETLEASE) of another user. `mode` is that of a new file.
Descriptor open_owned(int directory, const std::string& name, std::uint32_t uid, int flags, mode_t mode = 0644);

enum class IfMissing { create, leave };

/// Opens this user's folder "KIND.UID" in the directory. If another user has created something of that name, the folder
/// has a random name instead ("KIND.UID.RANDOM"). The folder must belong to this user and have no permission beyond
/// `mode`; else the descriptor is empty and `why_not` contains the reason.
Descriptor open_own_folder(const StateDir& directory, std::string_view kind, mode_t mode, IfMissing if_missing,
                           std::string& why_not);

}  // namespace glint::gpu::lease
