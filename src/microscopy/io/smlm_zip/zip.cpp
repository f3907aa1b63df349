// ZIP as in PKWARE's APPNOTE 6.3: local headers, data, central directory, end records, and ZIP64's.
// SPDX-License-Identifier: MIT
#include "io/smlm_zip/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/in_order.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/header_bytes.hpp"

namespace glint {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator64_mark = 0x07064b50;
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56, locator_bytes = 20;
constexpr std::uint32_t in_zip64 = 0xffffffff;
constexpr std::size_t max_entries = 100'000;
constexpr int raw_deflate = -MAX_WBITS, level = 6;
constexpr std::size_t packed_block_bytes = std::size_t(1) << 20, waiting_blocks = 16;

template <class T>
void append_little_endian(std::string& to, T value) {
    if (!host_is_little_endian) swap_bytes(reinterpret_cast<std::byte*>(&value), sizeof value, sizeof value);
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
    throw InputError(
        fmt::format("{}: {}: the archive is damaged or truncated; copy or write it again", file.name(), why));
}

/// Reads the extra field of ZIP64. Its values replace the numbers with all bits set, in this order.
void read_zip64(std::string_view extra, ZipEntry& entry) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const auto kind = number_at<std::uint16_t>(extra, at), bytes = number_at<std::uint16_t>(extra, at + 2);
        if (kind == 1) {
            const std::string_view own = extra.substr(at + 4, bytes);
            std::size_t next = 0;
            for (std::uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.header_at}) {
                if (*value != in_zip64 || next + 8 > own.size()) continue;
                *value = number_at<std::uint64_t>(own, next);
                next += 8;
            }
        }
        at += 4 + std::size_t(bytes);
    }
}

struct Directory {
    std::uint64_t at = 0, bytes = 0, entries = 0;
};

Directory find_directory(const InputFile& file) {
    constexpr std::uint64_t longest_comment = 65535;
    const std::uint64_t searched = std::min<std::uint64_t>(file.size(), end_bytes + longest_comment);
    const std::string tail = bytes_at(file, file.size() - searched, searched);
    for (std::size_t back = end_bytes; back <= tail.size(); ++back) {
        const std::size_t at = tail.size() - back;
        if (number_at<std::uint32_t>(tail, at) != end_mark) continue;
        if (number_at<std::uint16_t>(tail, at + 4) != 0 && number_at<std::uint16_t>(tail, at + 4) != 0xffff)
            throw InputError(
                fmt::format("{}: is one of several parts of an archive: join them (zip -s 0)", file.name()));
        Directory directory{number_at<std::uint32_t>(tail, at + 16), number_at<std::uint32_t>(tail, at + 12),
                            number_at<std::uint16_t>(tail, at + 10)};
        if (at >= locator_bytes && number_at<std::uint32_t>(tail, at - locator_bytes) == locator64_mark) {
            const auto end64_at = number_at<std::uint64_t>(tail, at - locator_bytes + 8);
            const std::string end64 = bytes_at(file, end64_at, end64_bytes);
            if (end64.size() == end64_bytes && number_at<std::uint32_t>(end64, 0) == end64_mark)
                directory = {number_at<std::uint64_t>(end64, 48), number_at<std::uint64_t>(end64, 40),
                             number_at<std::uint64_t>(end64, 32)};
        }
        return directory;
    }
    refuse(file, "has no directory at its end");
}

}  // namespace

bool begins_like_zip(const InputFile& file) {
    using namespace std::string_view_literals;
    return begins_with(file, "PK\3\4"sv);
}

std::vector<ZipEntry> zip_entries(const InputFile& file) {
    const Directory directory = find_directory(file);
    if (directory.at > file.size() || directory.bytes > file.size() - directory.at)
        refuse(file, fmt::format("its directory should lie in {} bytes from byte {} on, and the file has {}",
                                 directory.bytes, directory.at, file.size()));
    constexpr std::uint64_t max_bytes = std::uint64_t(64) << 20;
    if (directory.entries > max_entries || directory.bytes > max_bytes)
        throw InputError(
            fmt::format("{}: has {} entries in a directory of {} bytes, more than the limits of {} and {}: "
                        "this is no table of localizations",
                        file.name(), directory.entries, directory.bytes, max_entries, max_bytes));
    const std::string text = bytes_at(file, directory.at, directory.bytes);
    std::vector<ZipEntry> entries;
    for (std::size_t at = 0; entries.size() < directory.entries;) {
        if (text.size() - at < central_bytes || number_at<std::uint32_t>(text, at) != central_mark)
            refuse(file, fmt::format("its directory ends after {} of {} entries", entries.size(), directory.entries));
        const std::size_t name = number_at<std::uint16_t>(text, at + 28),
                          extra = number_at<std::uint16_t>(text, at + 30),
                          comment = number_at<std::uint16_t>(text, at + 32);
        if (text.size() - at - central_bytes < name + extra + comment)
            refuse(file, fmt::format("entry {} of its directory is cut off", entries.size() + 1));
        ZipEntry entry;
        entry.name = text.substr(at + central_bytes, name);
        entry.is_encrypted = number_at<std::uint16_t>(text, at + 8) & 1;
        entry.method = number_at<std::uint16_t>(text, at + 10);
        entry.crc = number_at<std::uint32_t>(text, at + 16);
        entry.packed_bytes = number_at<std::uint32_t>(text, at + 20);
        entry.bytes = number_at<std::uint32_t>(text, at + 24);
        entry.header_at = number_at<std::uint32_t>(text, at + 42);
        read_zip64(std::string_view(text).substr(at + central_bytes + name, extra), entry);
        entries.push_back(std::move(entry));
        at += central_bytes + name + extra + comment;
    }
    return entries;
}

struct ZipStream::State {
    z_stream stream{};
    bool is_open = false, has_ended = false;
    std::uint64_t taken = 0, given = 0;  ///< packed bytes, unpacked bytes
    std::uint32_t crc = 0;
    std::vector<std::byte> packed;

    ~State() { close(); }
    void close() {
        if (is_open) inflateEnd(&stream);
        is_open = false;
    }
};

ZipStream::ZipStream(std::shared_ptr<const InputFile> file, ZipEntry entry)
    : file_(std::move(file)), entry_(std::move(entry)), state_(std::make_unique<State>()) {
    if (entry_.is_encrypted)
        throw InputError(fmt::format("{}: {} is encrypted: unpack it first", file_->name(), entry_.name));
    if (entry_.method != Z_DEFLATED && entry_.method != 0)
        throw InputError(
            fmt::format("{}: {} is packed by method {}, and only stored and deflated entries are read: "
                        "pack it again (zip)",
                        file_->name(), entry_.name, entry_.method));
    const std::string header = bytes_at(*file_, entry_.header_at, local_bytes);
    if (header.size() < local_bytes || number_at<std::uint32_t>(header, 0) != local_mark)
        fail(fmt::format("has no header at byte {}", entry_.header_at));
    first_byte_ =
        entry_.header_at + local_bytes + number_at<std::uint16_t>(header, 26) + number_at<std::uint16_t>(header, 28);
    if (first_byte_ > file_->size() || entry_.packed_bytes > file_->size() - first_byte_)
        fail(fmt::format("should have {} bytes from byte {} on, and the file has {}", entry_.packed_bytes, first_byte_,
                         file_->size()));
    if (entry_.method == 0 && entry_.packed_bytes != entry_.bytes)
        fail(fmt::format("has two sizes, {} and {} bytes", entry_.packed_bytes, entry_.bytes));
    restart();
}

ZipStream::~ZipStream() = default;

void ZipStream::fail(const std::string& why) const { refuse(*file_, fmt::format("{} {}", entry_.name, why)); }

void ZipStream::restart() {
    State& state = *state_;
    state.close();
    state.stream = {};
    state.taken = state.given = 0, state.crc = 0, state.has_ended = false;
    if (entry_.method == 0) return;
    if (inflateInit2(&state.stream, raw_deflate) != Z_OK) throw std::bad_alloc();
    state.is_open = true;
}

std::size_t ZipStream::read_stored(std::span<std::byte> out) {
    State& state = *state_;
    const auto count = std::size_t(std::min<std::uint64_t>(out.size(), entry_.bytes - state.given));
    if (file_->read_at(first_byte_ + state.given, out.data(), count) != count) fail("is cut off");
    return count;
}

std::size_t ZipStream::read_deflated(std::span<std::byte> out) {
    State& state = *state_;
    std::size_t done = 0;
    while (done < out.size() && !state.has_ended) {
        if (state.stream.avail_in == 0) {
            constexpr std::uint64_t at_once = 1 << 16;
            state.packed.resize(std::size_t(std::min(at_once, entry_.packed_bytes - state.taken)));
            if (state.packed.empty() || file_->read_at(first_byte_ + state.taken, state.packed.data(),
                                                       state.packed.size()) != state.packed.size())
                fail("is cut off");
            state.taken += state.packed.size();
            state.stream.next_in = reinterpret_cast<Bytef*>(state.packed.data());
            state.stream.avail_in = uInt(state.packed.size());
        }
        const auto room = uInt(std::min<std::size_t>(out.size() - done, 1 << 30));
        state.stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
        state.stream.avail_out = room;
        const int result = inflate(&state.stream, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        state.has_ended = result == Z_STREAM_END;
        if (result != Z_OK && result != Z_BUF_ERROR && !state.has_ended) fail("holds damaged compressed data");
        done += room - state.stream.avail_out;
    }
    return done;
}

std::size_t ZipStream::read(std::span<std::byte> out) {
    State& state = *state_;
    const std::size_t got = entry_.method == 0 ? read_stored(out) : read_deflated(out);
    for (std::size_t at = 0; at < got;) {
        const auto part = uInt(std::min<std::size_t>(got - at, 1 << 30));
        state.crc = std::uint32_t(crc32(state.crc, reinterpret_cast<const Bytef*>(out.data() + at), part));
        at += part;
    }
    state.given += got;
    if (state.given > entry_.bytes || (got < out.size() && state.given != entry_.bytes))
        fail(fmt::format("unpacks to {} bytes, not {}",
                         state.given > entry_.bytes ? "more" : fmt::format("{}", state.given), entry_.bytes));
    if (state.given == entry_.bytes && state.crc != entry_.crc) fail("has another checksum than the directory says");
    return got;
}

std::string read_zip_entry(const std::shared_ptr<const InputFile>& file, const ZipEntry& entry, std::size_t most) {
    if (entry.bytes > most)
        throw InputError(
            fmt::format("{}: {} has {} bytes, more than the limit of {}", file->name(), entry.name, entry.bytes, most));
    ZipStream stream(file, entry);
    std::string text;
    constexpr std::size_t piece = 1 << 16;  // memory grows with the actual data, not with the claimed size
    for (;;) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        const std::size_t got = stream.read({reinterpret_cast<std::byte*>(text.data()) + before, piece});
        text.resize(before + got);
        if (got < piece) return text;
    }
}

void ZipWriter::begin(const std::string& name) {
    ZipEntry entry;
    entry.name = name, entry.method = Z_DEFLATED, entry.header_at = at_;
    entries_.push_back(entry);
    std::string text;
    at_ += header(entry, text, false);
    to_.write(text);
}

void ZipWriter::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t part = std::min(bytes.size(), waiting_blocks * packed_block_bytes - waiting_.size());
        waiting_.insert(waiting_.end(), bytes.begin(), bytes.begin() + std::ptrdiff_t(part));
        bytes = bytes.subspan(part);
        if (waiting_.size() == waiting_blocks * packed_block_bytes) deflate_blocks(waiting_.size());
    }
}

/// Deflates the waiting bytes. Each block is complete and byte-aligned, so the concatenated blocks are one stream.
void ZipWriter::deflate_blocks(std::size_t bytes) {
    struct DeflatedBlock {
        std::vector<std::byte> packed;
        std::uint32_t crc = 0;
        std::size_t bytes = 0;
    };
    const auto make = [&](std::size_t k, DeflatedBlock& block) {
        const std::size_t first = k * packed_block_bytes;
        block.bytes = std::min(packed_block_bytes, bytes - first);
        const auto* in = reinterpret_cast<const Bytef*>(waiting_.data() + first);
        block.crc = std::uint32_t(crc32(0, in, uInt(block.bytes)));
        z_stream stream{};
        if (deflateInit2(&stream, level, Z_DEFLATED, raw_deflate, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
        constexpr std::size_t flush_bytes = 64;
        block.packed.resize(deflateBound(&stream, uLong(block.bytes)) + flush_bytes);
        stream.next_in = const_cast<Bytef*>(in), stream.avail_in = uInt(block.bytes);
        stream.next_out = reinterpret_cast<Bytef*>(block.packed.data()), stream.avail_out = uInt(block.packed.size());
        const int result = deflate(&stream, Z_FULL_FLUSH);
        block.packed.resize(block.packed.size() - stream.avail_out);
        const bool is_whole = result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0;
        deflateEnd(&stream);
        if (!is_whole) throw_output_error(to_.target(), 0);
    };
    ZipEntry& entry = entries_.back();
    made_in_order<DeflatedBlock>(
        (bytes + packed_block_bytes - 1) / packed_block_bytes, make, [&](std::size_t, DeflatedBlock& block) {
            to_.write(block.packed.data(), block.packed.size());
            entry.crc = std::uint32_t(crc32_combine(entry.crc, block.crc, z_off_t(block.bytes)));
            entry.bytes += block.bytes, entry.packed_bytes += block.packed.size(), at_ += block.packed.size();
        });
    waiting_.clear();
}

void ZipWriter::end() {
    if (!waiting_.empty()) deflate_blocks(waiting_.size());
    constexpr unsigned char last_block[] = {3, 0};  // an empty block that ends the stream
    to_.write(last_block, sizeof last_block);
    ZipEntry& entry = entries_.back();
    entry.packed_bytes += sizeof last_block, at_ += sizeof last_block;
    std::string text;
    (void)header(entry, text, false);
    to_.write_over(std::size_t(entry.header_at), text.data(), text.size());
}

/// The sizes are always in the ZIP64 field, so that a header's length does not change when they become known.
std::size_t ZipWriter::header(const ZipEntry& entry, std::string& to, bool is_central) const {
    constexpr std::uint16_t version = 45, utf8_name = 0x0800, no_time = 0, first_day = 0x21;  // 1980-01-01
    const std::uint16_t zip64_bytes = is_central ? 24 : 16;
    const std::size_t before = to.size();
    append_little_endian(to, is_central ? central_mark : local_mark);
    if (is_central) append_little_endian(to, version);
    append_little_endian(to, version), append_little_endian(to, utf8_name),
        append_little_endian(to, std::uint16_t(entry.method));
    append_little_endian(to, no_time), append_little_endian(to, first_day), append_little_endian(to, entry.crc);
    append_little_endian(to, in_zip64), append_little_endian(to, in_zip64);
    append_little_endian(to, std::uint16_t(entry.name.size())),
        append_little_endian(to, std::uint16_t(4 + zip64_bytes));
    if (is_central) {
        append_little_endian(to, std::uint16_t(0)), append_little_endian(to, std::uint16_t(0)),
            append_little_endian(to, std::uint16_t(0));
        append_little_endian(to, std::uint32_t(0)), append_little_endian(to, in_zip64);
    }
    to += entry.name;
    append_little_endian(to, std::uint16_t(1)), append_little_endian(to, zip64_bytes);
    append_little_endian(to, entry.bytes), append_little_endian(to, entry.packed_bytes);
    if (is_central) append_little_endian(to, entry.header_at);
    return to.size() - before;
}

void ZipWriter::close() {
    std::string text;
    for (const ZipEntry& entry : entries_) (void)header(entry, text, true);
    const std::uint64_t directory_at = at_, directory_bytes = text.size(), end64_at = at_ + text.size();
    append_little_endian(text, end64_mark), append_little_endian(text, std::uint64_t(end64_bytes - 12));
    append_little_endian(text, std::uint16_t(45)), append_little_endian(text, std::uint16_t(45));
    append_little_endian(text, std::uint32_t(0)), append_little_endian(text, std::uint32_t(0));
    append_little_endian(text, std::uint64_t(entries_.size())),
        append_little_endian(text, std::uint64_t(entries_.size()));
    append_little_endian(text, directory_bytes), append_little_endian(text, directory_at);
    append_little_endian(text, locator64_mark), append_little_endian(text, std::uint32_t(0));
    append_little_endian(text, end64_at), append_little_endian(text, std::uint32_t(1));
    append_little_endian(text, end_mark), append_little_endian(text, std::uint16_t(0)),
        append_little_endian(text, std::uint16_t(0));
    append_little_endian(text, std::uint16_t(entries_.size())),
        append_little_endian(text, std::uint16_t(entries_.size()));
    append_little_endian(text, std::uint32_t(std::min<std::uint64_t>(directory_bytes, in_zip64)));
    append_little_endian(text, std::uint32_t(std::min<std::uint64_t>(directory_at, in_zip64)));
    append_little_endian(text, std::uint16_t(0));
    to_.write(text);
}

}  // namespace glint
