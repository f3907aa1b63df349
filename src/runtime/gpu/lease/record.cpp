// Seals and validates slot records.
// SPDX-License-Identifier: MIT
#include "gpu/lease/record.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>

namespace glint::gpu::lease {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t(1) << 50, max_sequence = std::uint64_t(1) << 62;
constexpr std::uint32_t max_contexts = 4096;

std::uint64_t checksum_of(const Record& record) {
    Record copy = record;
    copy.checksum = 0;
    std::uint64_t words[sizeof(Record) / 8], sum = 0xcbf29ce484222325;
    std::memcpy(words, &copy, sizeof words);
    for (const std::uint64_t word : words) {
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 29;
    }
    return sum;
}

bool plausible(const Record& r) {
    if (r.state > State::part_holding || r.sequence >= max_sequence || r.share_count > Record::max_shares) return false;
    if (r.gpus > Record::max_shares || r.need_bytes > max_bytes) return false;
    if (r.state != State::absent && r.gpus == 0) return false;
    const auto shares = r.used_shares();
    for (const Share& s : shares)
        if (s.reserved_bytes > max_bytes || s.held_bytes > max_bytes || s.more_contexts > max_contexts) return false;
    for (auto s = shares.begin(); s != shares.end(); ++s)
        if (std::any_of(shares.begin(), s, [&](const Share& before) { return before.gpu == s->gpu; })) return false;
    return true;
}

}  // namespace

std::optional<GpuId> gpu_id(const std::string& uuid) {
    GpuId id{};
    std::size_t digits = 0;
    for (std::size_t k = uuid.find('-') + 1; k < uuid.size(); ++k) {
        const int c = std::tolower(static_cast<unsigned char>(uuid[k]));
        if (!std::isxdigit(c)) continue;
        if (digits == 2 * id.size()) return {};
        const int value = c <= '9' ? c - '0' : c - 'a' + 10;
        id[digits / 2] = static_cast<unsigned char>(id[digits / 2] * 16 + value);
        ++digits;
    }
    if (digits != 2 * id.size()) return {};
    return id;
}

void seal(Record& record) { record.checksum = checksum_of(record); }

std::optional<Record> unseal(std::span<const unsigned char> bytes) {
    Record record;
    if (bytes.size() < sizeof record) return {};
    std::memcpy(&record, bytes.data(), sizeof record);
    if (record.magic != Record::magic_number || record.version != Record::this_version) return {};
    if (record.checksum != checksum_of(record) || !plausible(record)) return {};
    return record;
}

std::optional<Record> latest(std::span<const unsigned char> file) {
    if (file.size() < slot_file_bytes) return {};
    // The copy with the higher sequence number is validated first; checksumming both would double the time of a scan.
    const auto sequence_at = [&](std::size_t place) {
        std::uint64_t sequence = 0;
        std::memcpy(&sequence, file.data() + place + offsetof(Record, sequence), sizeof sequence);
        return sequence;
    };
    const std::size_t later = sequence_at(copy_bytes) > sequence_at(0) ? copy_bytes : 0;
    if (auto record = unseal(file.subspan(later, copy_bytes))) return record;
    return unseal(file.subspan(copy_bytes - later, copy_bytes));
}

}  // namespace glint::gpu::lease
