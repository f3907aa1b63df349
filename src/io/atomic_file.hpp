// A file that appears under its name only when it is complete.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace glint {

/// Creates `.NAME.part-PID` in the target's folder; `commit` gives it the target's name (replacing an older
/// file), destruction without it removes it. So a crash, a full disk or an exception never leaves half a file
/// under the final name. Write through `write`, or hand `temporary()` to a library that wants a path and
/// close that library's file before `commit`. Not thread-safe.
///
///     AtomicFile file("out.csv");
///     file.write("x,y\n");
///     file.commit();
class AtomicFile {
  public:
    /// Follows a symbolic link, so that the link survives. Throws OutputError: no such folder, no permission,
    /// the target is a folder or a device.
    explicit AtomicFile(const std::filesystem::path& target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::filesystem::path& target() const { return target_; }
    const std::filesystem::path& temporary() const { return temporary_; }

    /// Appends bytes, unbuffered. Throws OutputError.
    void write(const void* bytes, std::size_t count);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Writes over bytes that were written before, for headers known only at the end. Throws OutputError.
    void write_over(std::size_t offset, const void* bytes, std::size_t count);

    /// Brings the bytes to the disk (fsync), then renames. Throws OutputError, and then the target is
    /// untouched.
    void commit();

  private:
    std::filesystem::path target_, temporary_;
    int descriptor_ = -1;
};

/// Throws the OutputError for a failed write to `target`: names the file, the cause (`error`, an errno; 0
/// when the library that failed does not tell) and the way out.
[[noreturn]] void throw_output_error(const std::filesystem::path& target, int error);

}  // namespace glint
