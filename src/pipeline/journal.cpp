// Writing, checking and reading the journal.
// SPDX-License-Identifier: MIT
#include "pipeline/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "io/atomic_file.hpp"
#include "pipeline/hash.hpp"

namespace glint {
namespace {

static_assert(std::endian::native == std::endian::little, "the journal is little-endian");
static_assert(sizeof(float) == 4);

constexpr char magic[8] = {'G', 'L', 'I', 'N', 'T', 'J', '0', '1'};
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
static_assert(sizeof(RecordHead) == 64);

/// What differs, for a person: "threshold (5 then, 6 now); ...".
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

}  // namespace

Journal::Descriptor::~Descriptor() {
    if (number >= 0) ::close(number);
}

Journal::Journal(std::filesystem::path path, const Fingerprint& fingerprint, const TableLayout& layout,
                 std::int64_t first_frame, JournalStart start, const Visit& recovered)
    : path_(std::move(path)), layout_(layout), first_frame_(first_frame), next_frame_(first_frame) {
    open_locked();
    Fingerprint found;
    const bool holds_frames = read_header(found) && file_size() > records_begin_;
    if (!holds_frames || start == JournalStart::overwrite) {
        start_anew(fingerprint);
        return;
    }
    if (start == JournalStart::fresh)
        throw OptionError(
            fmt::format("{} holds finished frames of a stopped run: continue it with --resume, or start "
                        "over with --overwrite",
                        path_.string()));
    const std::string changes = differences(found, fingerprint);
    if (!changes.empty())
        throw OptionError(
            fmt::format("--resume: {} was begun with something else: {}. Give the same again, or start "
                        "over with --overwrite",
                        path_.string(), changes));
    recover(recovered);
}

Journal::~Journal() {
    if (file_.number >= 0 && end_ <= records_begin_) ::unlink(path_.c_str());
}

void Journal::open_locked() {
    // Another process may finish, and remove the file, between our open and our lock: then try again.
    for (int attempt = 0; attempt < 100; ++attempt)
        if (lock()) return;
    throw OutputError(fmt::format("{}: other processes make and remove it all the time", path_.string()));
}

bool Journal::lock() {
    if (file_.number >= 0) ::close(file_.number);
    file_.number = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_.number < 0) throw_output_error(path_, errno);
    // A file system that knows no locks must not keep anybody from working.
    if (::flock(file_.number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        throw OutputError(
            fmt::format("{} is in use: another glint writes this output now; wait for it, or give "
                        "another output",
                        path_.string()));
    }
    struct stat opened {
    }, named{};
    return ::fstat(file_.number, &opened) == 0 && ::stat(path_.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

std::uint64_t Journal::file_size() const {
    struct stat status {};
    if (::fstat(file_.number, &status) != 0) throw_output_error(path_, errno);
    return std::uint64_t(status.st_size);
}

void Journal::read_at(std::uint64_t offset, void* to, std::size_t count) const {
    char* next = static_cast<char*>(to);
    while (count > 0) {
        const ssize_t got = ::pread(file_.number, next, count, off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            throw InputError(fmt::format("{}: cannot be read: {}", path_.string(),
                                         got < 0 ? std::strerror(errno)
                                                 : "it "
                                                   "shrank"));
        next += got, offset += std::uint64_t(got), count -= std::size_t(got);
    }
}

void Journal::write_at_end(const std::vector<char>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t written = ::pwrite(file_.number, bytes.data() + done, bytes.size() - done, off_t(end_ + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int error = written < 0 ? errno : ENOSPC;
            // A torn record would be recognised and cut anyway: whether this works does not matter.
            if (::ftruncate(file_.number, off_t(end_)) != 0) errno = error;
            throw_output_error(path_, error);
        }
        done += std::size_t(written);
    }
    end_ += bytes.size();
}

/// False for a new journal (empty, or torn before its header was whole).
bool Journal::read_header(Fingerprint& fingerprint) {
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
    if (hash_of(text.data(), text.size()) != header.text_hash) return false;
    const nlohmann::json parts = nlohmann::json::parse(text, nullptr, false);
    if (!parts.is_array()) return false;
    for (const auto& part : parts)
        if (part.is_array() && part.size() == 2 && part[0].is_string() && part[1].is_string())
            fingerprint.emplace_back(part[0], part[1]);
    records_begin_ = end_ = sizeof header + header.text_bytes;
    return true;
}

void Journal::start_anew(const Fingerprint& fingerprint) {
    const std::string text = nlohmann::json(fingerprint).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    Header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.text_bytes = text.size();
    header.text_hash = hash_of(text.data(), text.size());
    bytes_.clear();
    put_bytes(&header, sizeof header, bytes_);
    put_bytes(text.data(), text.size(), bytes_);
    if (::ftruncate(file_.number, 0) != 0) throw_output_error(path_, errno);
    end_ = 0;
    write_at_end(bytes_);
    records_begin_ = end_;
}

void Journal::recover(const Visit& recovered) {
    const std::uint64_t size = file_size();
    BlockResult block;
    while (const std::uint64_t bytes = read_record(end_, size, block)) {
        if (block.first_frame != next_frame_) break;
        end_ += bytes;
        next_frame_ = block.end_frame();
        recovered(std::move(block));
    }
    if (::ftruncate(file_.number, off_t(end_)) != 0) throw_output_error(path_, errno);
}

void Journal::append(const BlockResult& block) {
    const RecordHead head{record_tag, std::uint32_t(block.frames()), block.first_frame, block.rows.size(),
                          block.counts};
    bytes_.clear();
    put_bytes(&head, sizeof head, bytes_);
    put_bytes(block.empty_score_spreads.data(), block.empty_score_spreads.size() * sizeof(float), bytes_);
    layout_.write(block.rows, bytes_);
    const std::uint64_t hash = hash_of(bytes_.data(), bytes_.size());
    put_bytes(&hash, sizeof hash, bytes_);
    write_at_end(bytes_);
    next_frame_ = block.end_frame();
}

/// Bytes of the record at `offset`, or 0 when none is whole between there and `end`.
std::uint64_t Journal::read_record(std::uint64_t offset, std::uint64_t end, BlockResult& block) const {
    RecordHead head{};
    std::uint64_t hash = 0;
    if (end - offset < sizeof head + sizeof hash) return 0;
    read_at(offset, &head, sizeof head);
    const std::uint64_t room = end - offset - sizeof head - sizeof hash;
    if (head.tag != record_tag || head.rows > room / layout_.row_bytes()) return 0;
    const std::uint64_t payload = head.rows * layout_.row_bytes() + head.frames * sizeof(float);
    if (head.frames == 0 || payload > room) return 0;
    std::vector<char> bytes(sizeof head + payload);
    read_at(offset, bytes.data(), bytes.size());
    read_at(offset + bytes.size(), &hash, sizeof hash);
    if (hash_of(bytes.data(), bytes.size()) != hash) return 0;
    block.first_frame = head.first_frame;
    block.counts = head.counts;
    block.empty_score_spreads.resize(head.frames);
    const char* payload_begin = bytes.data() + sizeof head;
    std::memcpy(block.empty_score_spreads.data(), payload_begin, head.frames * sizeof(float));
    block.rows = layout_.read(payload_begin + head.frames * sizeof(float), head.rows);
    return bytes.size() + sizeof hash;
}

void Journal::for_each(const Visit& visit) const {
    BlockResult block;
    for (std::uint64_t at = records_begin_; const std::uint64_t bytes = read_record(at, end_, block); at += bytes)
        visit(std::move(block));
}

void Journal::sync() {
    if (::fdatasync(file_.number) != 0 && errno != EINVAL && errno != ENOTSUP) throw_output_error(path_, errno);
}

void Journal::remove() {
    ::unlink(path_.c_str());
    ::close(std::exchange(file_.number, -1));
}

}  // namespace glint
