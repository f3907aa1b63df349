// Reads the map of chunks, or finds chunks without one.
// SPDX-License-Identifier: MIT
#include "io/nd2/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "glint/error.hpp"
#include "io/bytes_reader.hpp"

namespace glint::nd2 {
namespace {

constexpr std::uint32_t magic = 0x0abeceda;
constexpr std::size_t head_bytes = 16, longest_name = 1 << 16;
constexpr std::uint64_t alignment = 4096, largest_metadata_bytes = 64 << 20;
constexpr std::string_view map_name = "ND2 FILEMAP SIGNATURE NAME 0001!", map_end = "ND2 CHUNK MAP SIGNATURE 0000001!",
                           frame_prefix = "ImageDataSeq|";

std::vector<std::byte> bytes_at(const InputFile& file, std::uint64_t begin, std::uint64_t count) {
    std::vector<std::byte> bytes(
        std::size_t(std::min(count, file.size() - std::min(file.size(), begin))));  // at most the rest of the file
    bytes.resize(file.read_at(begin, bytes.data(), bytes.size()));
    return bytes;
}

/// Reads a chunk's header; nullopt if there is none, or if it extends beyond the file.
struct Head {
    std::string name;
    Data data;
};

std::optional<Head> head_at(const InputFile& file, std::uint64_t begin) {
    const auto raw = bytes_at(file, begin, head_bytes + 64);  // names that glint uses are shorter
    if (raw.size() < head_bytes) return std::nullopt;
    BytesReader bytes(raw);
    if (bytes.number<std::uint32_t>() != magic) return std::nullopt;
    const std::uint64_t name_bytes = bytes.number<std::uint32_t>(), data_bytes = bytes.number<std::uint64_t>();
    if (name_bytes > longest_name || begin + head_bytes + name_bytes > file.size()) return std::nullopt;
    std::string name = bytes.text(std::min<std::uint64_t>(name_bytes, bytes.left()));
    return Head{name.substr(0, name.find('!')), {begin + head_bytes + name_bytes, data_bytes}};
}

/// Returns the maximum number of frames in a file of that size: each has a chunk.
std::uint64_t max_frames(const InputFile& file) { return file.size() / head_bytes; }

void add(const InputFile& file, std::string_view name, std::uint64_t begin, Chunks& chunks) {
    if (!name.starts_with(frame_prefix)) {
        chunks.named.emplace(name, begin);
        return;
    }
    std::uint64_t number = 0;
    const auto digits = name.substr(frame_prefix.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number >= max_frames(file)) return;
    if (number >= chunks.frames.size()) chunks.frames.resize(std::size_t(number) + 1);
    chunks.frames[std::size_t(number)] = begin;
}

/// Returns the map's position from the last bytes; nullopt for an unfinished or truncated file.
std::optional<std::uint64_t> place_of_map(const InputFile& file) {
    const std::size_t bytes = map_end.size() + 8;
    if (file.size() < bytes) return std::nullopt;
    const auto raw = bytes_at(file, file.size() - bytes, bytes);
    BytesReader end(raw);
    if (raw.size() != bytes || end.text(map_end.size()) != map_end) return std::nullopt;
    return end.number<std::uint64_t>();
}

Chunks read_map(const InputFile& file, std::uint64_t begin) {
    const auto head = head_at(file, begin);
    if (!head || head->name + "!" != map_name || head->data.bytes > file.size() - head->data.begin)
        throw InputError(
            fmt::format("{}: its map of chunks is not at byte {}, where its end says: the file is damaged; copy it "
                        "again",
                        file.name(), begin));
    const auto raw = bytes_at(file, head->data.begin, head->data.bytes);
    const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
    Chunks chunks;
    for (std::size_t at = 0;;) {
        const std::size_t end = text.find('!', at);
        const std::string_view name = text.substr(at, end == text.npos ? 0 : end + 1 - at);
        if (name == map_end) return chunks;
        if (name.empty() || text.size() - end < 17)
            throw InputError(
                fmt::format("{}: its map of chunks has no end: the file is damaged; copy it again", file.name()));
        BytesReader place(std::span<const std::byte>(raw).subspan(end + 1));
        add(file, name.substr(0, name.size() - 1), place.number<std::uint64_t>(), chunks);
        at = end + 17;
    }
}

// Chunks begin at multiples of 4,096 bytes, or directly behind one another.
Chunks look_for_chunks(const InputFile& file) {
    Chunks chunks;
    chunks.recovered = true;
    for (std::uint64_t at = 0; at < file.size();) {
        const auto head = head_at(file, at);
        if (!head) {
            const std::uint64_t aligned = (at + alignment - 1) / alignment * alignment;
            if (aligned == at) break;
            at = aligned;
            continue;
        }
        add(file, head->name, at, chunks);
        if (head->data.bytes > file.size() - head->data.begin) break;
        at = head->data.begin + head->data.bytes;
    }
    return chunks;
}

}  // namespace

Chunks find_chunks(const InputFile& file) {
    const auto map = place_of_map(file);
    Chunks chunks = map ? read_map(file, *map) : look_for_chunks(file);
    if (chunks.frames.empty()) throw InputError(fmt::format("{}: is an ND2 file without a single frame", file.name()));
    return chunks;
}

Data data_of(const InputFile& file, std::uint64_t begin, const std::string& name) {
    const auto head = head_at(file, begin);
    if (!head || head->name != name)
        throw std::runtime_error(fmt::format("its chunk is not at byte {}, where the file's map says", begin));
    if (head->data.bytes > file.size() - head->data.begin)
        throw std::runtime_error(fmt::format("its chunk claims {} bytes, and {} follow in the file", head->data.bytes,
                                             file.size() - head->data.begin));
    return head->data;
}

std::optional<Value> values_of(const InputFile& file, const Chunks& chunks, const std::string& name) {
    const auto found = chunks.named.find(name);
    if (found == chunks.named.end()) return std::nullopt;
    try {
        const Data data = data_of(file, found->second, name);
        if (data.bytes > largest_metadata_bytes)
            throw std::runtime_error(fmt::format("it has {} bytes, too many for metadata", data.bytes));
        return parse_variant(bytes_at(file, data.begin, data.bytes));
    } catch (const std::runtime_error& error) {
        throw InputError(fmt::format("{}: {} is damaged: {}; copy the file again, or save it again in NIS-Elements",
                                     file.name(), name, error.what()));
    }
}

std::string frame_name(std::int64_t number) { return fmt::format("{}{}", frame_prefix, number); }

}  // namespace glint::nd2
