// Walks through groups, and looks up texts in their heap (HDF5 File Format Specification, III.A to III.E).
// SPDX-License-Identifier: MIT
#include "io/hdf5/guards.hpp"

#include <algorithm>
#include <set>

#include "io/hdf5/objects.hpp"

namespace glint::hdf5 {
namespace {

constexpr std::uint64_t longest_text_bytes = 15 << 20;
constexpr std::size_t max_objects = 100'000;
constexpr int deepest_tree = 32;

std::filesystem::path path_of(hid_t file) {
    std::string name(std::size_t(std::max<ssize_t>(H5Fget_name(file, nullptr, 0), 0)), '\0');
    H5Fget_name(file, name.data(), name.size() + 1);
    return name;
}

/// The file behind an identifier, and where its addresses begin.
struct AddressedFile {
    InputFile file;
    hsize_t base = 0;
    bool is_default = false;  ///< addresses and lengths have 8 bytes

    AddressedFile(hid_t id, const std::filesystem::path& path) : file(path) {
        const Handle properties(H5Fget_create_plist(id));
        std::size_t address_bytes = 0, size_bytes = 0;
        is_default = H5Pget_sizes(properties, &address_bytes, &size_bytes) >= 0 && address_bytes == 8 &&
                     size_bytes == 8 && H5Pget_userblock(properties, &base) >= 0;
    }
};

/// Visits each object of a file once, group by group. Skips groups with links of the newer kind.
class Walk {
  public:
    explicit Walk(const AddressedFile& place) : source_{place.file, place.base} {}

    bool is_sound(std::uint64_t object) {
        std::vector<std::uint64_t> to_do = {object};
        while (!to_do.empty() && sound_ && !source_.exhausted && seen_.size() < max_objects) {
            const std::uint64_t next = to_do.back();
            to_do.pop_back();
            if (seen_.insert(next).second) look_at(next, to_do);
        }
        return sound_ && !source_.exhausted;
    }

  private:
    void look_at(std::uint64_t object, std::vector<std::uint64_t>& to_do) {
        ChunkFacts chunks;
        for_each_message(source_, object, [&](Message message) {
            AttributePlace ignored;
            chunks.take(message);
            if (message.kind == attribute_message && !message.is_elsewhere) sound_ &= find_value(message, ignored);
            if (message.kind == symbol_table_message) {
                const std::uint64_t tree = message.bytes.number(8), heap = message.bytes.number(8);
                look_at_group(tree, heap, to_do);
            }
            return sound_;
        });
        sound_ &= chunks.agree();
    }

    void look_at_group(std::uint64_t tree, std::uint64_t heap, std::vector<std::uint64_t>& to_do) {
        Bytes head(source_, heap, 32);
        head.go_to(8);
        const std::uint64_t size = head.number(8);
        head.skip(8);
        const Bytes names(source_, head.number(8), size);
        if (names.size() == size) look_at_tree(tree, names.last_zero(), 0, to_do);
    }

    // A node holds a name before each of its children, and one after the last.
    void look_at_tree(std::uint64_t node, std::uint64_t last_zero, int depth, std::vector<std::uint64_t>& to_do) {
        Bytes head(source_, node, 24);
        if (head.text(4) != "TREE" || depth > deepest_tree || !seen_.insert(node).second) return;
        head.skip(1);
        const std::uint64_t level = head.number(1), children = head.number(2);
        Bytes bytes(source_, node + 24, children * 16 + 8);
        for (std::uint64_t k = 0; k < children && sound_; ++k) {
            sound_ &= bytes.number(8) <= last_zero;
            const std::uint64_t child = bytes.number(8);
            level > 0 ? look_at_tree(child, last_zero, depth + 1, to_do) : look_at_symbols(child, last_zero, to_do);
        }
        if (children > 0) sound_ &= bytes.number(8) <= last_zero;
    }

    void look_at_symbols(std::uint64_t node, std::uint64_t last_zero, std::vector<std::uint64_t>& to_do) {
        Bytes head(source_, node, 8);
        if (head.text(4) != "SNOD" || !seen_.insert(node).second) return;
        head.skip(2);
        const std::uint64_t symbols = head.number(2);
        Bytes bytes(source_, node + 8, symbols * 40);
        for (std::uint64_t k = 0; k < symbols && bytes.left() > 0; ++k) {
            sound_ &= bytes.number(8) <= last_zero;
            const std::uint64_t object = bytes.number(8), kind = bytes.number(4);
            bytes.skip(4);
            const std::uint64_t link = bytes.number(4);  // a soft link's target
            bytes.skip(12);
            if (kind == 2) sound_ &= link <= last_zero;
            if (kind != 2) to_do.push_back(object);
        }
    }

    Source source_;
    std::set<std::uint64_t> seen_;  ///< headers and nodes, each visited once
    bool sound_ = true;
};

/// The position of a text: its length, and its number in a heap.
struct TextPlace {
    std::uint64_t length = 0, heap = 0, number = 0;
};

TextPlace text_place(Bytes& bytes) {
    TextPlace place;
    place.length = bytes.number(4);
    place.heap = bytes.number(8);
    place.number = bytes.number(4);
    return place;
}

TextPlace place_in_attribute(Source& source, std::uint64_t object, const char* name) {
    TextPlace found;
    for_each_message(source, object, [&](Message message) {
        AttributePlace attribute;
        if (message.kind != attribute_message || !find_value(message, attribute) || attribute.name != name) return true;
        message.bytes.go_to(attribute.value);
        found = text_place(message.bytes);
        return false;
    });
    return found;
}

/// Returns true if the heap contains the text with the length in its reference, and all contents of the heap are
/// consistent. HDF5 reads the whole heap, and loops forever if free space has no length.
bool is_in_heap(Source& source, const TextPlace& text) {
    constexpr std::uint64_t head_bytes = 16;
    Bytes heap(source, text.heap, head_bytes);
    const bool is_heap = heap.text(4) == "GCOL";
    heap.skip(4);
    const std::uint64_t size = heap.number(8);
    Bytes objects(source, text.heap + head_bytes, size - std::min(size, head_bytes));
    if (!is_heap || size < head_bytes || objects.size() != size - head_bytes) return false;
    bool is_there = false;
    while (objects.left() >= head_bytes) {
        const std::uint64_t number = objects.number(2);
        objects.skip(6);
        std::uint64_t bytes = objects.number(8);
        if (number == 0 && bytes < head_bytes) return false;
        if (number == 0) bytes -= head_bytes;  // of free space, the head counts too
        if (bytes > objects.left()) return false;
        if (number != 0 && number == text.number) is_there = bytes == text.length;
        objects.skip((bytes + 7) / 8 * 8);
    }
    return is_there;
}

}  // namespace

bool has_sound_names(hid_t file, const std::filesystem::path& path) {
    const AddressedFile place(file, path);
    H5O_info_t root;
    if (!place.is_default) return true;
    return H5Oget_info(file, &root) >= 0 && Walk(place).is_sound(root.addr);
}

bool is_honest_text(hid_t object, const char* attribute) {
    const Handle file(H5Iget_file_id(object));
    const AddressedFile place(file, path_of(file));
    if (!place.is_default) return true;
    Source source{place.file, place.base};
    TextPlace text;
    H5O_info_t info;
    if (attribute && H5Oget_info(object, &info) < 0) return false;
    if (attribute) {
        text = place_in_attribute(source, info.addr, attribute);
    } else if (const haddr_t at = H5Dget_offset(object); at != HADDR_UNDEF) {
        Bytes bytes(source, at - place.base, 16);  // HDF5 reports its address in the file
        text = text_place(bytes);
    }
    return text.length == 0 || (text.length <= longest_text_bytes && is_in_heap(source, text));
}

}  // namespace glint::hdf5
