// Reads .zarray, .zgroup, .zattrs and zarr.json, and the files of chunks.
// SPDX-License-Identifier: MIT
#include "io/zarr/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/bytes_reader.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/movie_files.hpp"
#include "io/unpack.hpp"

namespace glint::zarr {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_description_bytes = 16 << 20, largest_chunk_bytes = std::uint64_t(1) << 28;
constexpr double largest_extent = double(std::uint64_t(1) << 40);
constexpr std::size_t max_axes = 8;
constexpr double largest_shard_chunks = double(1 << 28);

/// Returns an object's value, or null.
Json get(const Json& object, const char* key) {
    return object.is_object() && object.contains(key) ? object.at(key) : Json();
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw InputError(fmt::format("{}: {}", file.string(), why));
}

Json read_json(const fs::path& path) {
    if (!is_there(path)) return {};
    const InputFile file(path);
    if (file.size() > largest_description_bytes)
        refuse(path, fmt::format("has {} bytes, too many for a description", file.size()));
    std::string bytes(std::size_t(file.size()), '\0');
    bytes.resize(file.read_at(0, reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
    // Text that is nested too deeply would exhaust the stack. Real descriptions have a few levels.
    int depth = 0, deepest = 0;
    for (const char one : bytes)
        deepest = std::max(deepest, depth += one == '[' || one == '{' ? 1 : one == ']' || one == '}' ? -1 : 0);
    if (deepest > 64) refuse(path, "is nested deeper than 64 levels");
    Json json = Json::parse(bytes, nullptr, false);
    if (!json.is_object()) refuse(path, "is no JSON object: the file is damaged, or not complete yet");
    return json;
}

std::vector<std::uint64_t> extents(const Json& list, const char* name, const fs::path& file) {
    std::vector<std::uint64_t> out;
    if (!list.is_array() || list.size() < 2 || list.size() > max_axes)
        refuse(file, fmt::format("`{}` is {}, and a movie has 2 to {} dimensions", name, list.dump().substr(0, 80),
                                 max_axes));
    for (const Json& one : list) {
        const double extent = one.is_number() ? one.get<double>() : -1;
        if (!(extent >= 1 && extent <= largest_extent) || extent != std::floor(extent))
            refuse(file, fmt::format("`{}` is {}, no list of whole numbers from 1", name, list.dump().substr(0, 80)));
        out.push_back(std::uint64_t(extent));
    }
    return out;
}

std::optional<StoredPixel> pixel_of(char kind, char bytes) {
    const auto one_of = [&](StoredPixel of1, StoredPixel of2, StoredPixel of4, StoredPixel of8) {
        return bytes == '1'   ? std::optional(of1)
               : bytes == '2' ? std::optional(of2)
               : bytes == '4' ? std::optional(of4)
               : bytes == '8' ? std::optional(of8)
                              : std::nullopt;
    };
    using enum StoredPixel;
    if (kind == 'u') return one_of(uint8, uint16, uint32, uint64);
    if (kind == 'i') return one_of(int8, int16, int32, int64);
    if (kind == 'f' && bytes == '4') return float32;
    if (kind == 'f' && bytes == '8') return float64;
    return std::nullopt;
}

void read_type(const std::string& type, const fs::path& file, Array& array) {
    static const std::pair<const char*, const char*> names[] = {
        {"uint8", "|u1"}, {"uint16", "<u2"}, {"uint32", "<u4"}, {"uint64", "<u8"},  {"int8", "|i1"},
        {"int16", "<i2"}, {"int32", "<i4"},  {"int64", "<i8"},  {"float32", "<f4"}, {"float64", "<f8"}};
    std::string code = type;
    for (const auto& [name, short_name] : names)
        if (type == name) code = short_name;
    const auto pixel = code.size() == 3 ? pixel_of(code[1], code[2]) : std::nullopt;
    if (!pixel || std::string_view("<>|").find(code[0]) == std::string_view::npos)
        refuse(file, fmt::format(
                         "has the type {}, which is not read: integers and floating-point numbers of 1 to 8 bytes are",
                         type.empty() ? "(none)" : type.substr(0, 40)));
    array.type = *pixel;
    array.big_endian = code[0] == '>';
}

void read_fill(const Json& value, Array& array) {
    const std::string name = text(value);
    if (value.is_number()) array.fill = value.get<double>();
    if (name == "NaN") array.fill = std::numeric_limits<double>::quiet_NaN();
    if (name == "Infinity") array.fill = std::numeric_limits<double>::infinity();
    if (name == "-Infinity") array.fill = -std::numeric_limits<double>::infinity();
}

void take_codec(const std::string& name, const fs::path& file, Array& array) {
    static const std::pair<const char*, Codec> known[] = {{"zlib", Codec::zlib}, {"gzip", Codec::zlib},
                                                          {"zstd", Codec::zstd}, {"blosc", Codec::blosc},
                                                          {"lz4", Codec::lz4},   {"crc32c", Codec::crc32c}};
    for (const auto& [codec_name, codec] : known)
        if (name == codec_name) return array.codecs.push_back(codec);
    const char* more = name == "sharding_indexed" ? " (chunks within shards) beside others" : "";
    refuse(file, fmt::format(
                     "its chunks need the codec {}{}, which is not read: write it again with zstd, blosc, gzip or none",
                     name.empty() ? "(none)" : name.substr(0, 40), more));
}

void read_version_2(const Json& zarray, const fs::path& file, Array& array) {
    array.shape = extents(get(zarray, "shape"), "shape", file);
    array.chunk = extents(get(zarray, "chunks"), "chunks", file);
    read_type(text(get(zarray, "dtype")), file, array);
    read_fill(get(zarray, "fill_value"), array);
    const Json compressor = get(zarray, "compressor"), filters = get(zarray, "filters");
    if (!compressor.is_null()) take_codec(text(get(compressor, "id")), file, array);
    if (filters.is_array() && !filters.empty())
        refuse(file, fmt::format("its chunks need the filter {}, which is not read: write it again without filters",
                                 text(get(filters[0], "id"))));
    for (std::size_t k = 0; k < array.shape.size(); ++k) array.order.push_back(k);
    if (text(get(zarray, "order")) == "F") std::reverse(array.order.begin(), array.order.end());
    const std::string separator = text(get(zarray, "dimension_separator"));
    array.key_separator.assign(1, separator == "/" ? '/' : '.');
}

/// Reads the order of a chunk's stored axes: a permutation.
void read_transposition(const Json& order, const fs::path& file, Array& array) {
    std::vector<std::size_t> axes;
    for (std::size_t k = 0; order.is_array() && k < order.size(); ++k)
        axes.push_back(order[k].is_number_unsigned() ? order[k].get<std::size_t>() : max_axes);
    auto sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> all(array.shape.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
    if (sorted != all)
        refuse(file,
               fmt::format("its chunks are transposed by {}, no permutation of the axes", order.dump().substr(0, 80)));
    array.order = axes;
}

void read_codecs(const Json& codecs, const fs::path& file, Array& array);

/// Reads the codec of shards: the grid's chunk is then a shard, and the chunks within it are unpacked.
void read_sharding(const Json& configuration, const fs::path& file, Array& array) {
    const std::vector<std::uint64_t> inner = extents(get(configuration, "chunk_shape"), "chunk_shape", file);
    if (!array.shard.empty()) refuse(file, "has shards within shards, which are not read: write it again without");
    if (inner.size() != array.chunk.size())
        refuse(file,
               fmt::format("its shards have {} dimensions, and their chunks {}", array.chunk.size(), inner.size()));
    double chunks = 1;
    for (std::size_t k = 0; k < inner.size(); ++k) {
        if (array.chunk[k] % inner[k] != 0)
            refuse(file, fmt::format("its shards of {} are no multiple of their chunks of {} along dimension {}",
                                     array.chunk[k], inner[k], k));
        array.shard.push_back(array.chunk[k] / inner[k]);
        chunks *= double(array.shard.back());
    }
    if (chunks > largest_shard_chunks)
        refuse(file, fmt::format("its shards hold {:.0f} chunks, more than the limit of {:.0f}", chunks,
                                 largest_shard_chunks));
    array.chunk = inner;
    array.index_at_begin = text(get(configuration, "index_location")) == "start";
    for (const Json& codec : get(configuration, "index_codecs")) {
        const std::string name = text(get(codec, "name"));
        if (name == "crc32c")
            array.index_checksum_bytes += 4;
        else if (name != "bytes" || text(get(get(codec, "configuration"), "endian")) == "big")
            refuse(file, fmt::format("the index of its shards needs the codec {}, which is not read: write it again "
                                     "with bytes (little) and crc32c",
                                     name));
    }
    read_codecs(get(configuration, "codecs"), file, array);
}

void read_codecs(const Json& codecs, const fs::path& file, Array& array) {
    if (codecs.is_array() && codecs.size() == 1 && text(get(codecs[0], "name")) == "sharding_indexed")
        return read_sharding(get(codecs[0], "configuration"), file, array);

    bool has_bytes = false;
    for (std::size_t k = 0; codecs.is_array() && k < codecs.size(); ++k) {
        const std::string name = codecs[k].is_string() ? text(codecs[k]) : text(get(codecs[k], "name"));
        const Json configuration = get(codecs[k], "configuration");
        if (name == "transpose" && k == 0)
            read_transposition(get(configuration, "order"), file, array);
        else if (name == "bytes" && !has_bytes)
            has_bytes = true, array.big_endian = text(get(configuration, "endian")) == "big";
        else
            take_codec(name, file, array);
    }
    if (!has_bytes) refuse(file, "does not say how values become bytes (the codec bytes)");
    std::reverse(array.codecs.begin(), array.codecs.end());
}

void read_version_3(const Json& json, const fs::path& file, Array& array) {
    const Json grid = get(json, "chunk_grid"), keys = get(json, "chunk_key_encoding");
    array.shape = extents(get(json, "shape"), "shape", file);
    if (text(get(grid, "name")) != "regular")
        refuse(file, fmt::format("has a grid of chunks that is not regular ({}), which is not read",
                                 text(get(grid, "name"))));
    array.chunk = extents(get(get(grid, "configuration"), "chunk_shape"), "chunk_shape", file);
    read_type(text(get(json, "data_type")), file, array);
    read_fill(get(json, "fill_value"), array);
    for (std::size_t k = 0; k < array.shape.size(); ++k) array.order.push_back(k);
    read_codecs(get(json, "codecs"), file, array);
    const bool is_default = text(get(keys, "name")) != "v2";
    const std::string separator = text(get(get(keys, "configuration"), "separator"));
    array.key_separator.assign(1, separator == "/" || (separator.empty() && is_default) ? '/' : '.');
    if (is_default) array.key_begin = "c" + array.key_separator;
    for (const Json& name : get(json, "dimension_names")) array.axes.push_back(text(name));
}

/// Returns the names in lower case; none if all are empty, as nulls are.
std::vector<std::string> axis_names(std::vector<std::string> names, std::size_t axes) {
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    if (names.size() != axes || std::all_of(names.begin(), names.end(), is_empty)) return {};
    for (std::string& name : names)
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return names;
}

void check(const fs::path& file, const Array& array) {
    double bytes = num_bytes(array.type);
    if (array.chunk.size() != array.shape.size())
        refuse(file, fmt::format("has {} dimensions, and its chunks {}", array.shape.size(), array.chunk.size()));
    for (const std::uint64_t edge : array.chunk) bytes *= double(edge);
    if (bytes > double(largest_chunk_bytes))
        refuse(file,
               fmt::format(
                   "is stored in chunks of {:.0f} bytes, more than the limit of {}: write it again with smaller ones",
                   bytes, largest_chunk_bytes));
}

template <class T>
void fill_all(std::vector<std::byte>& out, double fill) {
    T value{};
    if (std::is_floating_point_v<T> ||
        (fill >= double(std::numeric_limits<T>::min()) && fill < double(std::numeric_limits<T>::max())))
        value = T(fill);
    else if (fill > 0)
        value = std::numeric_limits<T>::max();
    for (std::size_t k = 0; k + sizeof(T) <= out.size(); k += sizeof(T)) std::memcpy(out.data() + k, &value, sizeof(T));
}

void fill_all(StoredPixel type, std::vector<std::byte>& out, double fill) {
    switch (type) {
        case StoredPixel::uint8: return fill_all<std::uint8_t>(out, fill);
        case StoredPixel::uint16: return fill_all<std::uint16_t>(out, fill);
        case StoredPixel::float32: return fill_all<float>(out, fill);
        case StoredPixel::int8: return fill_all<std::int8_t>(out, fill);
        case StoredPixel::int16: return fill_all<std::int16_t>(out, fill);
        case StoredPixel::uint32: return fill_all<std::uint32_t>(out, fill);
        case StoredPixel::int32: return fill_all<std::int32_t>(out, fill);
        case StoredPixel::uint64: return fill_all<std::uint64_t>(out, fill);
        case StoredPixel::int64: return fill_all<std::int64_t>(out, fill);
        case StoredPixel::float16: return std::fill(out.begin(), out.end(), std::byte{});  // no fill value is read
        case StoredPixel::float64: return fill_all<double>(out, fill);
    }
}

/// One step of unpacking. No intermediate result may be longer than the final one.
void unpack_to(Codec codec, std::span<const std::byte> packed, std::span<std::byte> out) {
    switch (codec) {
        case Codec::zlib: return inflate_into(packed, out);
        case Codec::zstd: return unpack_zstd(packed, out);
        case Codec::blosc: return unpack_blosc(packed, out);
        case Codec::lz4: return unpack_lz4(packed.subspan(std::min<std::size_t>(4, packed.size())), out);  // its length
        case Codec::crc32c: break;
    }
}

}  // namespace

std::uint64_t Array::chunk_bytes() const {
    std::uint64_t bytes = std::uint64_t(num_bytes(type));
    for (const std::uint64_t edge : chunk) bytes *= edge;
    return bytes;
}

fs::path Array::chunk_path(const std::vector<std::uint64_t>& number) const {
    std::vector<std::uint64_t> file = number;
    for (std::size_t k = 0; k < shard.size(); ++k) file[k] /= shard[k];
    return folder / fmt::format("{}{}", key_begin, fmt::join(file, key_separator));
}

/// Returns the stored bytes of a chunk; empty if its shard lacks it. The shard's index contains the position and the
/// length of each chunk, 8 bytes each.
std::vector<std::byte> Array::packed_chunk(const std::vector<std::uint64_t>& number, std::uint64_t most) const {
    const fs::path path = chunk_path(number);
    const InputFile file(path);
    std::uint64_t place = 0, bytes = file.size();
    if (!shard.empty()) {
        std::uint64_t in_shard = 0, chunks = 1;
        for (std::size_t k = 0; k < shard.size(); ++k)
            in_shard = in_shard * shard[k] + number[k] % shard[k], chunks *= shard[k];
        const std::uint64_t index_bytes = 16 * chunks + index_checksum_bytes;
        if (file.size() < index_bytes)
            throw std::runtime_error(fmt::format("the shard {} has {} bytes, less than its index of {}", path.string(),
                                                 file.size(), index_bytes));
        const std::string entry = bytes_at(file, (index_at_begin ? 0 : file.size() - index_bytes) + 16 * in_shard, 16);
        place = number_at<std::uint64_t>(entry, 0), bytes = number_at<std::uint64_t>(entry, 8);
        if (place == UINT64_MAX && bytes == UINT64_MAX) return {};
        if (place > file.size() || bytes > file.size() - place || bytes == 0)
            throw std::runtime_error(fmt::format("the shard {} says that a chunk is {} bytes at {}, and has {} bytes",
                                                 path.string(), bytes, place, file.size()));
    }
    if (bytes > most)
        throw std::runtime_error(fmt::format("{} has {} bytes for {} of pixels", path.string(), bytes, chunk_bytes()));
    std::vector<std::byte> packed(std::size_t(bytes), std::byte{});
    packed.resize(file.read_at(place, packed.data(), packed.size()));
    return packed;
}

void Array::read_chunk(const std::vector<std::uint64_t>& number, std::vector<std::byte>& out) const {
    const fs::path path = chunk_path(number);
    const auto bytes = std::size_t(chunk_bytes());
    out.resize(bytes);
    if (!is_there(path)) return fill_all(type, out, fill);
    std::vector<std::byte> packed = packed_chunk(number, 2 * bytes + 65536);
    if (packed.empty() && !shard.empty()) return fill_all(type, out, fill);
    bool is_unpacked = false;
    try {
        for (const Codec codec : codecs)
            if (codec == Codec::crc32c)
                packed.resize(packed.size() - std::min<std::size_t>(packed.size(), 4));
            else if (is_unpacked)
                throw std::runtime_error("it is compressed twice, which is not read");
            else
                unpack_to(codec, packed, out), is_unpacked = true;
        if (!is_unpacked && packed.size() != bytes)
            throw std::runtime_error(fmt::format("it has {} bytes, not {}", packed.size(), bytes));
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("the chunk {} is damaged: {}", path.string(), error.what()));
    }
    if (!is_unpacked) out.swap(packed);
    if (big_endian == host_is_little_endian) swap_bytes(out.data(), out.size(), num_bytes(type));
}

bool is_there(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::none)
        throw InputError(fmt::format("{}: cannot be looked at ({})", path.string(), error.message()));
    if (is_lost_link(path))
        throw InputError(fmt::format("{}: is a link to a file that does not exist: put the file back", path.string()));
    return fs::exists(status);
}

Json description_of(const fs::path& folder, Json& attributes) {
    if (const Json json = read_json(folder / "zarr.json"); !json.is_null()) {
        attributes = get(json, "attributes");
        return json;
    }
    attributes = read_json(folder / ".zattrs");
    if (Json zarray = read_json(folder / ".zarray"); !zarray.is_null()) return zarray;
    return read_json(folder / ".zgroup");
}

bool is_array(const Json& description) { return !get(description, "shape").is_null(); }

Array read_array(const fs::path& folder) {
    Json attributes;
    const Json json = description_of(folder, attributes);
    Array array;
    array.folder = folder;
    const bool is_version_3 = get(json, "zarr_format") == 3;
    array.description = folder / (is_version_3 ? "zarr.json" : ".zarray");
    if (!is_array(json)) refuse(folder, "is no Zarr array: neither .zarray nor a zarr.json of an array is in it");
    is_version_3 ? read_version_3(json, array.description, array) : read_version_2(json, array.description, array);
    if (axis_names(array.axes, array.shape.size()).empty()) array.axes.clear();
    if (array.axes.empty())
        for (const Json& name : get(attributes, "_ARRAY_DIMENSIONS")) array.axes.push_back(text(name));
    array.axes = axis_names(std::move(array.axes), array.shape.size());
    check(array.description, array);
    return array;
}

}  // namespace glint::zarr
