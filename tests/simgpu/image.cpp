// Reads fatbins as nvcc 13 writes them. NVIDIA does not document the header, the entries, or section .nv.info.KERNEL of
// a cubin, which contains the parameters.
// SPDX-License-Identifier: MIT
#include "image.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace simgpu {
namespace {

constexpr std::uint32_t fatbin_magic = 0xBA55ED50;
constexpr std::uint16_t ptx = 1, elf = 2;
constexpr std::uint64_t compressed = 0x2000 | 0x8000;  // LZ4, zstd

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;  // of the entries
};

struct FatbinEntry {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;  // of the code
    std::uint32_t compressed_bytes, unknown;
    std::uint16_t minor, major;
    std::uint32_t capability;
    std::uint32_t name_offset, name_bytes;
    std::uint64_t flags;
};
static_assert(sizeof(FatbinEntry) == 48);

/// Machine code runs on its own major capability and later minors; PTX on everything later.
bool runs_on(const FatbinEntry& entry, int capability) {
    const int built_for = int(entry.capability);
    if (entry.kind == ptx) return built_for <= capability;
    return entry.kind == elf && built_for / 10 == capability / 10 && built_for <= capability;
}

template <class T>
T at(std::string_view bytes, std::size_t offset) {
    T value = {};
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string_view part(std::string_view bytes, std::size_t offset, std::size_t size) {
    return offset > bytes.size() ? std::string_view() : bytes.substr(offset, size);
}

std::string_view find_section(std::string_view file, const std::string& name) {
    const auto header = at<Elf64_Ehdr>(file, 0);
    const auto section = [&](unsigned i) { return at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
    const auto names = section(header.e_shstrndx);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto s = section(i);
        if (part(file, names.sh_offset + s.sh_name, name.size() + 1) == std::string_view(name.c_str(), name.size() + 1))
            return part(file, s.sh_offset, s.sh_size);
    }
    return {};
}

}  // namespace

std::optional<std::string> code_for(const void* image, int capability) {
    const auto* bytes = static_cast<const char*>(image);
    if (std::memcmp(image, simulated_image, sizeof simulated_image) == 0) return std::string();
    FatbinHeader header;
    std::memcpy(&header, bytes, sizeof header);
    if (header.magic != fatbin_magic) return std::nullopt;
    std::optional<std::string> best;
    const char* at = bytes + header.header_bytes;
    for (const char* end = at + header.bytes; at < end;) {
        FatbinEntry entry;
        std::memcpy(&entry, at, sizeof entry);
        const char* code = at + entry.header_bytes;
        if (runs_on(entry, capability) && (!best || entry.kind == elf))
            best = entry.flags & compressed ? std::string("compressed") : std::string(code, entry.bytes);
        at = code + entry.bytes;
    }
    return best;
}

bool has_kernel(std::string_view code, std::string_view name) {
    if (code.empty() || code == "compressed") return true;
    const std::string section = ".text." + std::string(name) + '\0';
    const std::string entry = ".entry " + std::string(name) + '(';
    return code.find(section) != code.npos || code.find(entry) != code.npos;
}

std::map<unsigned, RecordedParameter> recorded_parameters(std::string_view code, const std::string& kernel) {
    constexpr std::uint8_t with_payload = 4, kernel_parameter = 0x17;
    std::map<unsigned, RecordedParameter> parameters;
    if (!code.starts_with(ELFMAG)) return parameters;
    const std::string_view info = find_section(code, ".nv.info." + kernel);
    for (std::size_t i = 0; i + 4 <= info.size(); i += 4) {
        const auto format = at<std::uint8_t>(info, i), what = at<std::uint8_t>(info, i + 1);
        if (format != with_payload) continue;  // the value is in the entry itself
        if (what == kernel_parameter)
            parameters[at<std::uint16_t>(info, i + 8)] = {at<std::uint16_t>(info, i + 10),
                                                          at<std::uint32_t>(info, i + 12) >> 18};
        i += at<std::uint16_t>(info, i + 2);
    }
    return parameters;
}

}  // namespace simgpu
