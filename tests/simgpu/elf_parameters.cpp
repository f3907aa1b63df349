// Reads section .nv.info.KERNEL of a cubin. NVIDIA does not document it; this is what nvcc 13 writes.
// SPDX-License-Identifier: MIT
#include "elf_parameters.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace simgpu {
namespace {

template <class T>
T at(std::string_view bytes, std::size_t offset) {
    T value = {};
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string_view part(std::string_view bytes, std::size_t offset, std::size_t size) {
    return offset > bytes.size() ? std::string_view() : bytes.substr(offset, size);
}

std::string_view find_section(std::string_view elf, const std::string& name) {
    const auto header = at<Elf64_Ehdr>(elf, 0);
    const auto section = [&](unsigned i) { return at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr)); };
    const auto names = section(header.e_shstrndx);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto s = section(i);
        if (part(elf, names.sh_offset + s.sh_name, name.size() + 1) == std::string_view(name.c_str(), name.size() + 1))
            return part(elf, s.sh_offset, s.sh_size);
    }
    return {};
}

}  // namespace

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
