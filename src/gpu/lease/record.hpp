// What a participant says of itself in its slot file: fixed size, versioned, with a checksum. Whoever reads one trusts
// nothing: what is malformed is ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace glint::gpu::lease {

/// A UUID's digits, which NVML and CUDA write alike.
using GpuId = std::array<unsigned char, 16>;
/// Of "GPU-..." or "MIG-..."; nothing for what is no UUID.
std::optional<GpuId> gpu_id(const std::string& uuid);

enum class State : std::uint32_t {
    absent,    ///< nobody; what is left is for the next one in this slot
    waiting,   ///< shares: the GPUs that it can use
    claiming,  ///< shares: what it takes unless somebody was faster
    holding,   ///< shares: its lease
};

/// Of one GPU, in bytes, both with the context.
struct Share {
    GpuId gpu;
    std::uint64_t reserved_bytes, held_bytes;
    std::uint32_t more_contexts = 0;  ///< beyond the one that held_bytes tells of: a program with several processes
    std::uint32_t unused = 0;
};

/// A lease that began in this slot: by it tickets that came before count how often they were passed. Times by Clock.
struct Admission {
    std::uint64_t arrived_ns, admitted_ns;
};

/// What this user's processes have found out about a GPU under a driver.
struct Known {
    GpuId gpu;
    std::uint32_t driver;         ///< driver_number()
    std::uint32_t context_mib;    ///< what a context takes; 0: unknown
    std::uint32_t most_contexts;  ///< 0: unknown
    std::uint32_t unused;
};

/// In the machine's own byte order: the directory is that of one machine.
struct Record {
    static constexpr std::uint64_t magic_number = 0x31657361656c6c67;  // "glleas1" and a check on the byte order
    static constexpr std::uint32_t this_version = 2;
    static constexpr std::size_t max_shares = 32, max_admissions = 8, max_known = 16;

    std::uint64_t magic = magic_number;
    std::uint64_t checksum = 0;
    std::uint32_t version = this_version;
    State state = State::absent;
    std::uint64_t sequence = 0;  ///< grows with each record that is written
    std::uint32_t pid = 0;       ///< for people only: containers number differently
    std::uint32_t gpus = 0;      ///< wanted
    std::uint32_t share_count = 0;
    /// Counts who had this slot. Its owner locks the byte of this number, so that what a dead owner left never looks
    /// alive.
    std::uint32_t occupancy = 0;
    std::uint64_t need_bytes = 0;                             ///< on each GPU, beyond the context
    std::uint64_t arrived_ns = 0, since_ns = 0, beat_ns = 0;  ///< of the ticket; of the state; the last sign of life
    std::array<Share, max_shares> shares{};
    std::array<Admission, max_admissions> admissions{};  ///< of this slot, whoever had it, the latest first
    std::array<Known, max_known> known{};

    std::span<const Share> used_shares() const { return {shares.data(), share_count}; }
    bool operator==(const Record&) const = delete;
};
static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 2000);

/// A slot file holds two copies, written in turns: one of them is always whole.
constexpr std::size_t copy_bytes = 2048, slot_file_bytes = 2 * copy_bytes;

/// Makes the checksum right.
void seal(Record& record);
/// The record at the start of `bytes`; nothing when there is no valid one.
std::optional<Record> unseal(std::span<const unsigned char> bytes);
/// The later valid one of a slot file's two copies.
std::optional<Record> latest(std::span<const unsigned char> file);

}  // namespace glint::gpu::lease
