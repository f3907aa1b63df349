// Writing, checking and reading records.
// SPDX-License-Identifier: MIT
#include "run/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/file_state.hpp"
#include "io/files/input_file.hpp"

namespace glint {

std::string differences(const Fingerprint& then, const Fingerprint& now) {
    std::string text;
    for (const auto& [name, value] : now) {
        std::string old = "unknown";
        for (const auto& [old_name, old_value] : then)
            if (old_name == name) old = old_value;
        if (old != value) text += fmt::format("{}{} ({} then, {} now)", text.empty() ? "" : "; ", name, old, value);
    }
    return text;
}

namespace {

static_assert(std::endian::native == std::endian::little, "the journal is little-endian");
static_assert(sizeof(float) == 4);

constexpr char magic[8] = {'G', 'L', 'I', 'N', 'T', 'J', '0', '6'};
constexpr std::uint32_t record_tag = 0x314b4c42;  // "BLK1"
constexpr std::uint64_t longest_header = 1 << 20;

struct Header {
    char magic[8];
    std::uint64_t text_bytes, text_hash;
};
static_assert(sizeof(Header) == 24);

struct RecordHead {
    std::uint32_t tag, frames;
    std::int64_t first_frame;
    std::uint64_t rows;
    BlockCounts counts;
};
static_assert(sizeof(RecordHead) == 128);

}  // namespace

void RecordFile::open(int flags) {
    close();
    // O_NONBLOCK, because opening a FIFO would wait forever
    descriptor_ = ::open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
    ours_ = descriptor_ >= 0 && (flags & O_EXCL);
    struct stat status {};
    if (descriptor_ >= 0 && (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))) {
        ours_ = false;
        close();
        throw InputError(fmt::format("{} is not a regular file: move it away, or give another output", path_.string()));
    }
    if (descriptor_ >= 0) return;
    if (flags & O_CREAT) throw_output_error(path_, errno);
    throw_cannot_open(path_.string(), errno);
}

void RecordFile::open_locked() {
    // Another process may finish and remove the file between our open and our lock, which then guards no name: retry.
    for (int attempt = 0; attempt < 100; ++attempt) {
        open(O_RDWR | O_CREAT);
        if (lock_file(descriptor_) == FileLock::held)
            throw OutputError(
                fmt::format("{} is in use: another glint writes this output now; wait for it, or give "
                            "another output",
                            path_.string()));
        ours_ = still_names(path_, descriptor_);
        if (ours_) return;
    }
    throw OutputError(fmt::format("{}: other processes make and remove it all the time", path_.string()));
}

void RecordFile::close() {
    if (descriptor_ < 0) return;
    if (ours_ && is_empty() && still_names(path_, descriptor_)) ::unlink(path_.c_str());
    ::close(std::exchange(descriptor_, -1));
}

/// Returns true for 0 bytes or a header without records. A foreign file, whose header was not read, is not empty and is
/// kept.
bool RecordFile::is_empty() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return false;
    return status.st_size == 0 || (records_begin_ > 0 && std::uint64_t(status.st_size) <= records_begin_);
}

bool RecordFile::remove() {
    const bool gone = !still_names(path_, descriptor_) || ::unlink(path_.c_str()) == 0;
    close();
    return gone;
}

std::uint64_t RecordFile::file_size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) throw_output_error(path_, errno);
    return std::uint64_t(status.st_size);
}

void RecordFile::read_at(std::uint64_t offset, void* to, std::size_t count) const {
    char* next = static_cast<char*>(to);
    while (count > 0) {
        const ssize_t got = ::pread(descriptor_, next, count, off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            throw InputError(
                fmt::format("{}: cannot be read: {}", path_.string(), got < 0 ? std::strerror(errno) : "it shrank"));
        next += got, offset += std::uint64_t(got), count -= std::size_t(got);
    }
}

void RecordFile::write_at_end(const std::vector<char>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t written = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, off_t(end_ + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int error = written < 0 ? errno : ENOSPC;
            // Best effort: a torn record fails its checksum, so readers ignore it even if this call fails.
            if (::ftruncate(descriptor_, off_t(end_)) != 0) errno = error;
            throw_output_error(path_, error);
        }
        done += std::size_t(written);
    }
    end_ += bytes.size();
}

bool RecordFile::read_header(Fingerprint& fingerprint) {
    const std::uint64_t size = file_size();
    Header header{};
    read_at(0, &header, std::size_t(std::min<std::uint64_t>(size, sizeof header)));
    if (std::memcmp(header.magic, magic, std::size_t(std::min<std::uint64_t>(size, sizeof magic))) != 0)
        throw InputError(
            fmt::format("{} is no journal of this glint: move it away, or give another output", path_.string()));
    if (size < sizeof header || header.text_bytes > longest_header || size < sizeof header + header.text_bytes)
        return false;
    std::string text(header.text_bytes, '\0');
    read_at(sizeof header, text.data(), text.size());
    if (hash_of(text.data(), text.size()) != header.text_hash) {
        if (size == sizeof header + header.text_bytes) return false;  // an incomplete write
        throw InputError(
            fmt::format("{} is damaged: its header does not match its checksum, and {} bytes follow it. Copy it "
                        "again, or move it away to start over",
                        path_.string(), size - sizeof header - header.text_bytes));
    }
    const nlohmann::json parts = nlohmann::json::parse(text, nullptr, false);
    if (!parts.is_array()) return false;
    for (const auto& part : parts)
        if (part.is_array() && part.size() == 2 && part[0].is_string() && part[1].is_string())
            fingerprint.emplace_back(part[0], part[1]);
    records_begin_ = end_ = sizeof header + header.text_bytes;
    return true;
}

void RecordFile::start(const Fingerprint& fingerprint) {
    const std::string text = nlohmann::json(fingerprint).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    Header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.text_bytes = text.size();
    header.text_hash = hash_of(text.data(), text.size());
    bytes_.clear();
    put_bytes(&header, sizeof header, bytes_);
    put_bytes(text.data(), text.size(), bytes_);
    // An empty file is skipped. After a file was cut to nothing, ext4 writes all that follows to the disk when the
    // file is closed, even if it was removed, and waits for that (60 MB: 0.04 s).
    if (file_size() > 0) end_at(0);
    end_ = 0;
    write_at_end(bytes_);
    records_begin_ = end_;
}

void RecordFile::end_at(std::uint64_t end) {
    if (::ftruncate(descriptor_, off_t(end)) != 0) throw_output_error(path_, errno);
    end_ = end;
}

std::uint64_t RecordFile::append(const BlockResult& block) {
    const RecordHead head{record_tag, std::uint32_t(block.frames()), block.first_frame, block.rows.size(),
                          block.counts};
    bytes_.clear();
    put_bytes(&head, sizeof head, bytes_);
    put_bytes(block.noise_checks.data(), block.noise_checks.size() * sizeof(float), bytes_);
    layout_.write(block.rows, bytes_);
    const std::uint64_t hash = hash_of(bytes_.data(), bytes_.size());
    put_bytes(&hash, sizeof hash, bytes_);
    write_at_end(bytes_);
    return hash;
}

std::uint64_t RecordFile::read(std::uint64_t offset, std::uint64_t end, BlockResult& block,
                               std::uint64_t* checksum) const {
    RecordHead head{};
    std::uint64_t hash = 0;
    if (end - offset < sizeof head + sizeof hash) return 0;
    read_at(offset, &head, sizeof head);
    const std::uint64_t room = end - offset - sizeof head - sizeof hash;
    if (head.tag != record_tag || head.rows > room / layout_.row_bytes()) return 0;
    const std::uint64_t payload = head.rows * layout_.row_bytes() + head.frames * sizeof(float);
    if (head.frames == 0 || head.first_frame < 0 || head.first_frame > INT64_MAX / 2 || payload > room) return 0;
    std::vector<char> bytes(sizeof head + payload);
    read_at(offset, bytes.data(), bytes.size());
    read_at(offset + bytes.size(), &hash, sizeof hash);
    if (hash_of(bytes.data(), bytes.size()) != hash) return 0;
    if (checksum) *checksum = hash;
    block.first_frame = head.first_frame;
    block.counts = head.counts;
    block.noise_checks.resize(head.frames);
    const char* payload_begin = bytes.data() + sizeof head;
    std::memcpy(block.noise_checks.data(), payload_begin, head.frames * sizeof(float));
    block.rows = layout_.read(payload_begin + head.frames * sizeof(float), head.rows);
    return bytes.size() + sizeof hash;
}

void RecordFile::sync() {
    if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) throw_output_error(path_, errno);
}

}  // namespace glint
