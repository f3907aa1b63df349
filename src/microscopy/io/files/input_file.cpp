// Opening files for reading, with errors that name them.
// SPDX-License-Identifier: MIT
#include "io/files/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {
namespace {

// Checked before open(): opening a pipe would wait for its writer.
struct stat regular_file_facts(const std::string& name) {
    struct stat facts {};
    if (::stat(name.c_str(), &facts) != 0) throw_cannot_open(name, errno);
    if (S_ISDIR(facts.st_mode)) throw InputError(fmt::format("{}: is a folder; give the file in it", name));
    if (!S_ISREG(facts.st_mode))
        throw InputError(fmt::format("{}: is not a regular file; copy the data to a file first", name));
    if (facts.st_size == 0) throw InputError(fmt::format("{}: is empty (0 bytes)", name));
    return facts;
}

}  // namespace

void require_descriptors(const std::string& name, int error) {
    if (error != EMFILE && error != ENFILE) return;
    throw OutputError(fmt::format("{}: cannot be opened ({}): {}", name, std::strerror(error), more_descriptors));
}

void throw_cannot_open(const std::string& name, int error) {
    require_descriptors(name, error);
    throw InputError(fmt::format("{}: cannot be opened ({})", name, std::strerror(error)));
}

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
    const struct stat facts = regular_file_facts(name_);
    size_ = std::uint64_t(facts.st_size);
    id_ = {std::uint64_t(facts.st_dev), std::uint64_t(facts.st_ino)};
    descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw_cannot_open(name_, errno);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read_at(std::uint64_t offset, std::byte* out, std::size_t n) const {
    constexpr std::size_t max_per_call = std::size_t(1) << 30;  // Linux reads at most 2 GiB in one call
    std::size_t done = 0;
    while (done < n) {
        const ssize_t got = ::pread(descriptor_, out + done, std::min(n - done, max_per_call), off_t(offset + done));
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw InputError(
                fmt::format("{}: cannot be read at byte {} ({})", name_, offset + done, std::strerror(errno)));
        done += std::size_t(got);
    }
    return done;
}

// Advice only: a file system that ignores it still reads correctly.
void InputFile::expect_sequential_reads() const { (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL); }
void InputFile::expect_scattered_reads() const { (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM); }

bool begins_with(const InputFile& file, std::string_view magic) {
    std::string start(magic.size(), '\0');
    return file.read_at(0, reinterpret_cast<std::byte*>(start.data()), start.size()) == magic.size() && start == magic;
}

bool begins_like_tiff(const InputFile& file) {
    using namespace std::string_view_literals;
    return begins_with(file, "II*\0"sv) || begins_with(file, "MM\0*"sv) || begins_with(file, "II+\0"sv) ||
           begins_with(file, "MM\0+"sv);
}

}  // namespace glint
