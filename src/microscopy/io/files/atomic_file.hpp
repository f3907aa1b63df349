// Files that get their final names only when they are complete.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "glint/if_exists.hpp"

namespace glint {

/// Creates `.NAME.part-PID` in the target's folder. `commit` renames it to the target; destruction without `commit`
/// removes it. A crash, a full disk or an exception thus never leaves half a file under the final name. Removes files
/// that killed processes left (their locks are free). A replaced file keeps its permissions. Not thread-safe.
///
///     AtomicFile file("out.csv");
///     file.write("x,y\n");
///     file.commit();
class AtomicFile {
  public:
    /// Follows a symbolic link, so that the link survives. Throws OutputError: no such folder, no permission,
    /// the target is a folder or a device.
    explicit AtomicFile(const std::filesystem::path& target, IfExists if_exists = IfExists::replace);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::filesystem::path& target() const { return target_; }

    /// Appends bytes, unbuffered. Throws OutputError.
    void write(const void* bytes, std::size_t count);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Overwrites bytes written before, for headers known only at the end. Throws OutputError.
    void write_over(std::size_t offset, const void* bytes, std::size_t count);

    // For libraries that write by callbacks (HDF5, libtiff). They remember the first failure instead of throwing, and
    // do nothing afterwards. `check` and `commit` throw it, however the library handled it.
    void write_at(std::uint64_t offset, const void* bytes, std::size_t count) noexcept;
    void resize(std::uint64_t bytes) noexcept;
    /// Returns the number of bytes read; fewer than `count` at the end of the file or after a failure.
    std::size_t read_at(std::uint64_t offset, void* bytes, std::size_t count) noexcept;
    std::uint64_t size() const { return size_; }
    void check() const;

    /// Flushes the bytes to the disk (fsync), then renames the file. Throws OutputError if a step fails, or if a target
    /// with other bytes must be kept. The target is then untouched, unless only the last step failed: the flush of the
    /// rename.
    void commit();

  private:
    friend void commit_together(AtomicFile& description, AtomicFile& described);
    void create();
    void begin_to_flush() noexcept;
    void keep_permissions() const;
    void finish();
    bool place();
    void settle();
    [[noreturn]] void fail(int error);

    std::filesystem::path target_, temporary_;
    IfExists if_exists_;
    int descriptor_ = -1, failed_ = 0;
    std::uint64_t size_ = 0, flushing_ = 0;
    bool placed_ = false;  ///< has its final name
};

/// The target of a symbolic link, even if nothing exists there yet; else the path itself. Files that belong to an
/// output (journal, description) are named after it, so that all names of the output lead to the same files.
std::filesystem::path without_link(const std::filesystem::path& path);

/// Removes the files that killed processes left of an AtomicFile of this target, which must not be a link. Such files
/// are no longer locked. A file that cannot be removed does no harm.
void remove_leftovers(const std::filesystem::path& target);

/// Throws the OutputError with which an AtomicFile of this path would fail, as far as this is known without writing.
/// Call it before work whose result is written there.
void require_writable(const std::filesystem::path& path);

/// The remedy if a process or the system has reached its maximum of open files.
inline constexpr const char* more_descriptors =
    "raise the limit of open files (ulimit -n), or work on fewer files at a time";

/// Throws the OutputError for a failed write to `target`. Names the file, the cause (`error`, an errno; 0 if the
/// library does not report one) and the remedy.
[[noreturn]] void throw_output_error(const std::filesystem::path& target, int error);

/// Commits a file and its description, which must match, such as Picasso's .hdf5 and .yaml. A process that is
/// killed in between leaves no new file beside an old one.
/// If neither exists, the description is placed first. An old description is renamed before the described file is
/// replaced. After such a kill the file may lack its description until the same run is repeated, or `repair_pair`
/// is called. Throws OutputError.
void commit_together(AtomicFile& description, AtomicFile& described);

/// Completes or reverts what a killed `commit_together` of the same targets began. Call it before writing a pair.
void repair_pair(const std::filesystem::path& description, const std::filesystem::path& described);

}  // namespace glint
