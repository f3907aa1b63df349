// The order of renames, and the state that a kill after each of them leaves.
// SPDX-License-Identifier: MIT
#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/files/file_state.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

fs::path hidden(const fs::path& target, const std::string& what, const std::string& id) {
    return fs::path(target).replace_filename(
        fmt::format(".{}.{}-{}", target.filename().string().substr(0, 200), what, id));
}

bool is_there(const fs::path& path) {
    std::error_code none;
    return fs::exists(fs::symlink_status(path, none));
}

/// Locks the folder, so that two writers of one pair do not mix their files. Waits for at most 10 s, since the holder
/// may have been stopped (SIGSTOP); then, or on a file system without locks, the writer proceeds without the lock.
class FolderLock {
  public:
    explicit FolderLock(const fs::path& target) {
        const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
        descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int look = 0; look < 1000 && descriptor_ >= 0 && lock_file(descriptor_) == FileLock::held; ++look)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ~FolderLock() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int descriptor_ = -1;
};

/// Renames an old description while the described file is replaced. Its lock shows repair_pair() that it is in use.
class SetAside {
  public:
    SetAside(const fs::path& description, const std::string& id)
        : name_(description), aside_(hidden(name_, "old", id)) {
        descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor_ < 0 && errno == ENOENT) return;
        if (descriptor_ >= 0) lock_file(descriptor_);
        if (::rename(name_.c_str(), aside_.c_str()) == 0) {
            is_aside_ = true;
            return;
        }
        const int error = errno;
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
        if (error != ENOENT) throw_output_error(name_, error);
    }
    ~SetAside() {
        if (is_aside_ && (keep_old_ ? ::rename(aside_.c_str(), name_.c_str()) : ::unlink(aside_.c_str())) != 0) {
        }  // the description keeps the other name, under which `repair_pair` finds it
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    SetAside(const SetAside&) = delete;
    SetAside& operator=(const SetAside&) = delete;
    void described_is_new() { keep_old_ = false; }

  private:
    fs::path name_, aside_;
    int descriptor_ = -1;
    bool is_aside_ = false, keep_old_ = true;
};

std::vector<std::string> ids_of_old(const fs::path& description) {
    const std::string start = hidden(description, "old", "").filename().string();
    std::vector<std::string> ids;
    std::error_code none;
    const fs::path folder = description.parent_path().empty() ? fs::path(".") : description.parent_path();
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(start)) ids.push_back(name.substr(start.size()));
    }
    return ids;
}

}  // namespace

void commit_together(AtomicFile& description, AtomicFile& described) {
    description.finish();
    described.finish();
    const FolderLock lock(described.target());
    if (described.if_exists_ == IfExists::replace) {
        const std::string temporary = description.temporary_.filename().string();
        SetAside old(description.target(), temporary.substr(temporary.rfind(".part-") + 6));
        described.place();
        old.described_is_new();
        description.place();
    } else {
        const bool placed = description.place();
        try {
            described.place();
        } catch (...) {
            if (placed) ::unlink(description.target().c_str());
            throw;
        }
    }
    described.settle();
    description.settle();
}

// The described file's temporary name exists until its rename. So it shows whether the other process was killed
// before that rename (the old description is right) or after it (the new one is).
void repair_pair(const fs::path& description, const fs::path& described) {
    for (const std::string& id : ids_of_old(description)) {
        const fs::path old = hidden(description, "old", id), fresh = hidden(description, "part", id);
        const int descriptor = ::open(old.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0) continue;
        const bool abandoned = lock_file(descriptor) == FileLock::taken;
        if (abandoned && !is_there(description)) {
            const bool replaced = !is_there(hidden(described, "part", id)) && is_there(fresh);
            if (::rename((replaced ? fresh : old).c_str(), description.c_str()) != 0) {
                const int error = errno;
                ::close(descriptor);
                throw_output_error(description, error);
            }
        }
        if (abandoned && is_there(old)) ::unlink(old.c_str());
        ::close(descriptor);
    }
}

}  // namespace glint
