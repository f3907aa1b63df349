// The record in a slot file: fixed size, versioned, with a checksum. Readers do not trust it: any user can write such a
// file, so malformed or implausible records are ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace glint::gpu::lease {

/// The 128 bits of a UUID, which NVML and CUDA report in the same form.
using GpuId = std::array<unsigned char, 16>;
/// Parses "GPU-..." or "MIG-..."; nullopt if it is not a UUID.
std::optional<GpuId> gpu_id(const std::string& uuid);

enum class State : std::uint32_t {
    absent,    ///< slot not in use; its history (admissions, known) remains for the next owner
    waiting,   ///< shares: the GPUs that the request can use
    claiming,  ///< shares: the GPUs claimed, not yet confirmed
    holding,   ///< shares: the GPUs leased
    /// The same states for a part of a lease (Record::lease), which matter only to the other processes under that
    /// lease.
    part_waiting,
    part_claiming,
    part_holding,
};

/// The share of one GPU. Both amounts are in bytes and include the context.
struct Share {
    GpuId gpu;
    std::uint64_t reserved_bytes, held_bytes;
    std::uint32_t more_contexts = 0;  ///< beyond the first: a program with several processes
    std::uint32_t unused = 0;
};

/// An admission from this slot. Earlier tickets count these to see how often they were overtaken. Times of Clock.
struct Admission {
    std::uint64_t arrived_ns, admitted_ns;
};

/// One of two values, measured by a process of this user on a GPU with a driver version.
struct Known {
    GpuId gpu;
    std::uint32_t driver;        ///< Observation::driver
    std::uint32_t context_mib;   ///< memory of a context; 0: not measured here
    std::uint32_t max_contexts;  ///< that the GPU holds; 0: not measured here
    std::uint32_t seen_s;        ///< time of the measurement: seconds of Clock
};

/// In native byte order: the directory belongs to one machine.
struct Record {
    static constexpr std::uint64_t magic_number = 0x31657361656c6c67;  // "glleas1" and a check on the byte order
    static constexpr std::uint32_t this_version = 4;
    static constexpr std::size_t max_shares = 32, max_admissions = 8, max_known = 16;

    std::uint64_t magic = magic_number;
    std::uint64_t checksum = 0;
    std::uint32_t version = this_version;
    State state = State::absent;
    std::uint64_t sequence = 0;  ///< incremented with every write
    std::uint32_t pid = 0;       ///< in pid_namespace; for messages only
    std::uint32_t gpus = 0;      ///< requested
    std::uint32_t share_count = 0;
    /// Number of owners that this slot has had. The owner locks the byte at this offset (liveness_lock), so a record
    /// left by a dead owner never counts as alive after another process has taken the slot.
    std::uint32_t occupancy = 0;
    std::uint64_t need_bytes = 0;                             ///< on each GPU, beyond the context
    std::uint64_t arrived_ns = 0, since_ns = 0, beat_ns = 0;  ///< arrival of the ticket; of the state; last heartbeat
    std::array<Share, max_shares> shares{};
    std::array<Admission, max_admissions> admissions{};  ///< from this slot by any owner, latest first
    std::array<Known, max_known> known{};
    std::uint32_t pid_namespace = 0;                                     ///< pid_namespace() of the owner
    std::uint32_t lease_uid = 0, lease_number = 0, lease_occupancy = 0;  ///< of a part: the slot of its lease
    std::uint32_t expected_ms = 0;  ///< how long the lease is expected to be held; 0: unknown
    std::uint32_t unused = 0;

    std::span<const Share> used_shares() const { return {shares.data(), share_count}; }
    bool operator==(const Record&) const = delete;
};
static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 2024);

/// A slot file holds two copies, written alternately, so that one of them is valid even when the writer is killed in
/// the middle of a write.
constexpr std::size_t copy_bytes = 2048, slot_file_bytes = 2 * copy_bytes;

/// Sets the checksum.
void seal(Record& record);
/// Returns the record at the start of `bytes`; nullopt if it is invalid.
std::optional<Record> unseal(std::span<const unsigned char> bytes);
/// Returns the later valid copy of a slot file's two.
std::optional<Record> latest(std::span<const unsigned char> file);

}  // namespace glint::gpu::lease
