// Walks through the elements of a MATLAB file: a tag of type and length, then the bytes.
// SPDX-License-Identifier: MIT
#include "io/mat_arrays.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <new>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"

namespace glint {
namespace {

constexpr std::uint64_t mat_header_bytes = 128, tag_bytes = 8;
constexpr std::size_t array_header_bytes = 4096;  // of a variable, which has a name of at most 63 characters
constexpr std::size_t max_arrays = 100000;
enum Type : std::uint32_t { mi_int8 = 1, mi_int32 = 5, mi_uint32 = 6, mi_matrix = 14, mi_compressed = 15 };

/// A tag with the data in it or after it.
struct Element {
    std::uint32_t type = 0;
    std::uint64_t bytes = 0, first_byte = 0, next = 0;
};

/// Returns the element at byte `at`. Elements of at most four bytes may be in the tag.
Element element_at(std::string_view text, std::uint64_t at, bool big_endian) {
    const auto word = number_at<std::uint32_t>(text, std::size_t(at), big_endian);
    if (word >> 16) return {word & 0xffff, word >> 16, at + 4, at + tag_bytes};
    const std::uint64_t bytes = number_at<std::uint32_t>(text, std::size_t(at) + 4, big_endian);
    return {word, bytes, at + tag_bytes, at + tag_bytes + (bytes + 7) / 8 * 8};
}

std::optional<StoredPixel> stored_as(std::uint32_t type) {
    switch (type) {
        case 1: return StoredPixel::int8;
        case 2: return StoredPixel::uint8;
        case 3: return StoredPixel::int16;
        case 4: return StoredPixel::uint16;
        case 5: return StoredPixel::int32;
        case 6: return StoredPixel::uint32;
        case 7: return StoredPixel::float32;
        case 9: return StoredPixel::float64;
        case 12: return StoredPixel::int64;
        case 13: return StoredPixel::uint64;
        default: return std::nullopt;
    }
}

/// Classes 6 to 15 are numbers. The class determines the type, not how values are stored, so that all parts of a movie
/// have the same type.
std::optional<PixelType> type_of(int array_class, StoredPixel stored) {
    if (array_class < 6 || array_class > 15) return std::nullopt;
    if (array_class == 9 && stored == StoredPixel::uint8) return PixelType::uint8;
    const bool fits = stored == StoredPixel::uint8 || stored == StoredPixel::uint16;
    return array_class == 11 && fits ? PixelType::uint16 : PixelType::float32;
}

/// Returns the variable whose mi_matrix begins the text; nullopt if it is invalid, or has another byte order.
std::optional<MatArray> parse_array(std::string_view text, bool big_endian) {
    const auto next = [&](std::uint64_t at) { return element_at(text, at, big_endian); };
    if (next(0).type != mi_matrix) return std::nullopt;
    const Element flags = next(tag_bytes), dimensions = next(flags.next), name = next(dimensions.next);
    if (flags.type != mi_uint32 || dimensions.type != mi_int32 || name.type != mi_int8 || name.next > text.size() ||
        dimensions.bytes > 1024)
        return std::nullopt;
    MatArray array;
    const auto word = number_at<std::uint32_t>(text, std::size_t(flags.first_byte), big_endian);
    array.is_complex = word & 0x800;
    array.array_class = int(word & 0xff);
    array.name = text.substr(std::size_t(name.first_byte), std::size_t(name.bytes));
    for (std::uint64_t at = 0; at + 4 <= dimensions.bytes; at += 4)
        array.dimensions.push_back(number_at<std::int32_t>(text, std::size_t(dimensions.first_byte + at), big_endian));
    const Element numbers = next(name.next);
    const auto stored = stored_as(numbers.type);
    if (!stored || (word & 0x200)) return array;  // logical: a mask
    array.stored = *stored;
    array.type = type_of(int(word & 0xff), *stored);
    array.first_byte = numbers.first_byte;
    array.bytes = numbers.bytes;
    return array;
}

/// Returns the first bytes of an unpacked zlib stream.
std::string unpacked_header(std::string packed) {
    std::string out(array_header_bytes, '\0');
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = uInt(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    (void)inflate(&stream, Z_SYNC_FLUSH);  // a damaged stream ends early
    out.resize(out.size() - stream.avail_out);
    inflateEnd(&stream);
    return out;
}

std::optional<MatArray> read_array(const InputFile& file, const Element& element, bool big_endian) {
    if (element.type == mi_compressed) {
        auto array = parse_array(unpacked_header(bytes_at(file, element.first_byte,
                                                          std::min<std::uint64_t>(element.bytes, array_header_bytes))),
                                 big_endian);
        if (array) array->packed_at = element.first_byte, array->packed_bytes = element.bytes;
        return array;
    }
    const std::uint64_t at = element.first_byte - tag_bytes;
    auto array = parse_array(bytes_at(file, at, array_header_bytes), big_endian);
    if (array) array->first_byte += at, array->begin = at;
    return array;
}

constexpr std::size_t max_listed = 20;

std::string listed(const std::vector<MatArray>& arrays) {
    std::vector<std::string> out;
    for (const MatArray& array : arrays) {
        if (out.size() == max_listed)
            return fmt::format("{}, and {} more", fmt::join(out, ", "), arrays.size() - max_listed);
        out.push_back(array.described());
    }
    return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
}

/// Recognises a matrix's header, which has no signature, by five numbers in narrow ranges and a name.
bool begins_like_mat4(const InputFile& file) {
    constexpr std::size_t header_numbers = 20, longest_name = 64;
    const std::string header = bytes_at(file, 0, header_numbers + longest_name);
    if (header.size() <= header_numbers) return false;
    for (const bool big_endian : {false, true}) {
        const auto number = [&](std::size_t at) { return number_at<std::uint32_t>(header, at, big_endian); };
        const std::uint32_t type = number(0), name_bytes = number(16);  // each digit of the type is a code
        const bool known =
            type / 1000 == std::uint32_t(big_endian) && type / 100 % 10 == 0 && type / 10 % 10 <= 5 && type % 10 <= 2;
        if (known && number(12) <= 1 && name_bytes >= 2 && name_bytes <= longest_name &&
            header.size() >= header_numbers + name_bytes && header[header_numbers + name_bytes - 1] == '\0' &&
            std::isalpha(static_cast<unsigned char>(header[header_numbers])))
            return true;
    }
    return false;
}

}  // namespace

std::string MatArray::described() const {
    return fmt::format("{} ({})", name.empty() ? "without a name" : name, fmt::join(dimensions, " x "));
}

MatArray movie_of(const std::vector<MatArray>& arrays, const std::string& name) {
    std::vector<MatArray> movies;
    for (MatArray array : arrays) {
        // The order of immovie and montage: (height, width, 1, frames).
        while (array.dimensions.size() > 3 &&
               std::find(array.dimensions.begin() + 2, array.dimensions.end(), 1) != array.dimensions.end())
            array.dimensions.erase(std::find(array.dimensions.begin() + 2, array.dimensions.end(), 1));
        if (array.is_numeric() && array.dimensions.size() == 3) movies.push_back(std::move(array));
    }
    if (movies.empty())
        throw InputError(
            fmt::format("{}: has no movie, which is an array of numbers of (height, width, frames); its variables: {}",
                        name, listed(arrays)));
    if (movies.size() > 1)
        throw InputError(
            fmt::format("{}: has {} arrays that can be a movie: {}; save one alone: save('movie.mat', '{}')", name,
                        movies.size(), listed(movies), movies[0].name));
    return movies[0];
}

MatVersion mat_version(const InputFile& file) {
    const std::string header = bytes_at(file, 0, mat_header_bytes);
    if (header.size() < mat_header_bytes) return MatVersion::none;
    const std::string_view order = std::string_view(header).substr(126);
    if (order != "IM" && order != "MI") return MatVersion::none;
    const auto version = number_at<std::uint16_t>(header, 124, order == "MI");
    if (version == 0x0200 && header.starts_with("MATLAB 7.3")) return MatVersion::hdf5;
    return version == 0x0100 ? MatVersion::elements : MatVersion::none;
}

void refuse_mat4(const InputFile& file) {
    if (begins_like_mat4(file))
        throw InputError(
            fmt::format("{}: is a MATLAB file of version 4, which glint does not read: load it in MATLAB and save it "
                        "with \"-v7\"",
                        file.name()));
}

MatFile read_mat(const InputFile& file) {
    MatFile mat;
    mat.big_endian = bytes_at(file, 126, 2) == "MI";
    for (std::uint64_t at = mat_header_bytes; at + tag_bytes <= file.size();) {
        const std::string tag = bytes_at(file, at, tag_bytes);
        const std::uint32_t type = number_at<std::uint32_t>(tag, 0, mat.big_endian);
        const std::uint64_t bytes = number_at<std::uint32_t>(tag, 4, mat.big_endian);
        if (const auto array = read_array(file, {type, bytes, at + tag_bytes, 0}, mat.big_endian))
            mat.arrays.push_back(*array);
        if (mat.arrays.size() > max_arrays)
            throw InputError(
                fmt::format("{}: has more than {} variables: save the movie alone", file.name(), max_arrays));
        at += tag_bytes + (type == mi_compressed ? bytes : (bytes + 7) / 8 * 8);
    }
    return mat;
}

}  // namespace glint
