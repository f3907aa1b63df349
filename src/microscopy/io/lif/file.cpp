// Reads the chain of blocks, each of which states its name and its size.
// SPDX-License-Identifier: MIT
#include "io/lif/file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"

namespace glint::lif {
namespace {

constexpr std::uint32_t block_mark = 0x70;
constexpr std::uint8_t field_mark = 0x2a;
constexpr std::uint64_t max_xml_bytes = std::uint64_t(1) << 28, max_name_bytes = 1 << 12;  // real XML has some MB
constexpr std::uint64_t max_block_bytes = std::uint64_t(1) << 60;
constexpr std::size_t max_blocks = 1 << 20;

/// The text of names of blocks, which are ASCII. Other characters become `?`.
std::string ascii(std::string_view utf16) {
    std::string out;
    for (std::size_t k = 0; k + 1 < utf16.size(); k += 2)
        out += utf16[k + 1] == 0 && static_cast<unsigned char>(utf16[k]) < 128 ? utf16[k] : '?';
    return out;
}

}  // namespace

File read_file(const InputFile& file) {
    constexpr std::uint64_t head_bytes = 13;
    const std::string head = bytes_at(file, 0, head_bytes);
    const std::uint64_t xml_bytes = 2 * std::uint64_t(number_at<std::uint32_t>(head, 9));
    if (head.size() < head_bytes || number_at<std::uint32_t>(head, 0) != block_mark ||
        number_at<std::uint8_t>(head, 8) != field_mark || xml_bytes > file.size() - head_bytes ||
        xml_bytes > max_xml_bytes)
        throw InputError(fmt::format(
            "{}: begins like a LIF file of Leica, and its description is not whole: the file is damaged; copy it again",
            file.name()));
    File out{bytes_at(file, head_bytes, xml_bytes), head_bytes + xml_bytes};
    if (ascii(std::string_view(out.xml).substr(0, 30)) == "LMS_Object_File")
        throw InputError(fmt::format(
            "{}: is a LOF file of Leica LAS X, which is not read: save the project as LIF in LAS X", file.name()));
    return out;
}

std::map<std::string, Block> find_blocks(const InputFile& file, std::uint64_t at, int version) {
    const std::size_t size_bytes = version >= 2 ? 8 : 4, head_bytes = 9 + size_bytes + 5;
    std::map<std::string, Block> blocks;
    while (blocks.size() < max_blocks) {
        const std::string head = bytes_at(file, at, head_bytes);
        const std::uint64_t bytes =
            version >= 2 ? number_at<std::uint64_t>(head, 9) : number_at<std::uint32_t>(head, 9);
        const std::uint64_t name_bytes = 2 * std::uint64_t(number_at<std::uint32_t>(head, 10 + size_bytes));
        if (head.size() < head_bytes || number_at<std::uint32_t>(head, 0) != block_mark ||
            number_at<std::uint8_t>(head, 8) != field_mark ||
            number_at<std::uint8_t>(head, 9 + size_bytes) != field_mark || name_bytes > max_name_bytes)
            break;
        const std::uint64_t begin = at + head_bytes + name_bytes;
        if (begin > file.size()) break;
        blocks.emplace(ascii(bytes_at(file, at + head_bytes, name_bytes)),
                       Block{begin, std::min(bytes, max_block_bytes)});
        if (bytes > file.size() - begin) break;  // truncated
        at = begin + bytes;
    }
    return blocks;
}

}  // namespace glint::lif
