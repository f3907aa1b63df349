// A file opened for reading at any offset, by several threads simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace glint {

/// Throws for an input that the system does not open (`error`, an errno): InputError, or OutputError if no
/// descriptor is left, since nothing is wrong with the file then.
[[noreturn]] void throw_cannot_open(const std::string& name, int error);
/// Throws OutputError if no descriptor is left; for files that may be missing.
void require_descriptors(const std::string& name, int error);

/// Identifies a file independently of its name (device and inode).
struct FileId {
    std::uint64_t device = 0, number = 0;
    bool operator==(const FileId&) const = default;
};

/// A regular file, open until destroyed. `read_at` may be called from several threads.
class InputFile {
  public:
    /// Throws InputError with the reason: no such file, a folder, no permission, empty.
    explicit InputFile(const std::filesystem::path& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;  // a second owner would close the file under the first
    InputFile& operator=(const InputFile&) = delete;

    const std::string& name() const { return name_; }  ///< as the user gave it, for messages
    std::uint64_t size() const { return size_; }       ///< bytes, when it was opened
    const FileId& id() const { return id_; }
    int descriptor() const { return descriptor_; }
    /// Reads up to n bytes; fewer only at the end of the file. Throws InputError if the system reports an error.
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const;
    /// Hints to the system that reads will be sequential, so that it may read ahead further, or scattered, so that
    /// it should not.
    void expect_sequential_reads() const;
    void expect_scattered_reads() const;

  private:
    std::string name_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    FileId id_;
};

/// Returns true if the file begins with these bytes.
bool begins_with(const InputFile& file, std::string_view magic);
/// Returns true for a classic TIFF or BigTIFF of either byte order.
bool begins_like_tiff(const InputFile& file);

}  // namespace glint
