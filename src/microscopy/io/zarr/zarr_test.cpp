// Zarr movies: versions, orders of chunks, axes, and descriptions with false or invalid claims.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <fstream>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/unpack.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::expect_error;

namespace {

std::string described(const std::string& more, const std::string& shape = "[2,2,3]",
                      const std::string& chunks = "[1,2,2]") {
    return R"({"zarr_format":2,"shape":)" + shape + R"(,"chunks":)" + chunks + R"(,"dtype":"|u1","fill_value":9)" +
           more + "}";
}

/// Two frames of 3x2 px in chunks of 2x2; the last one is missing.
struct Zarr {
    const test::TemporaryFolder folder = {};

    void put(const std::string& name, const std::string& bytes) const {
        const auto path = folder / ("m.zarr/" + name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
    }
    explicit Zarr(const std::string& zarray = described("")) {
        put(".zarray", zarray);
        put("0.0.0", std::string("\1\2\4\5"));
        put("0.0.1", std::string("\3\0\6\0", 4));
        put("1.0.0", std::string("\x11\x12\x14\x15"));
    }
    std::unique_ptr<Movie> open(const MovieChoice& choice = {}) const { return open_movie(folder / "m.zarr", choice); }
};

std::vector<int> frame_of(Movie& movie, std::int64_t frame) {
    FrameBlock block;
    movie.read(frame, 1, block);
    std::vector<int> out;
    for (int k = 0; k < block.width * block.height; ++k) out.push_back(int(block.frame(0)[k]));
    return out;
}

}  // namespace

TEST(ZarrMovie, puts_chunks_together) {
    const Zarr zarr;
    const auto movie = zarr.open();
    EXPECT_EQ(movie->info().name, "m.zarr");
    EXPECT_EQ(movie->info().frames, 2);
    EXPECT_TRUE(movie->info().warnings.empty());
    EXPECT_EQ(frame_of(*movie, 0), (std::vector<int>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(frame_of(*movie, 1), (std::vector<int>{17, 18, 9, 20, 21, 9}))
        << "a chunk that is missing has the fill value";
    EXPECT_EQ(open_movie(zarr.folder / "m.zarr/")->info().name, "m.zarr");
}

TEST(ZarrMovie, a_chunk_that_is_a_link_to_nothing_has_no_fill_value) {
    const Zarr zarr;
    std::filesystem::create_symlink("gone", zarr.folder / "m.zarr/1.0.1");
    const auto movie = zarr.open();
    EXPECT_EQ(frame_of(*movie, 0), (std::vector<int>{1, 2, 3, 4, 5, 6}));
    expect_error<InputError>([&] { frame_of(*movie, 1); }, {"1.0.1: is a link to a file that does not exist"});
}

TEST(ZarrMovie, transposed_chunks) {
    const Zarr zarr(described(R"(,"order":"F")"));
    EXPECT_EQ(frame_of(*zarr.open(), 0), (std::vector<int>{1, 4, 3, 2, 5, 0}));
}

TEST(ZarrMovie, version_3) {
    const Zarr zarr;
    zarr.put("zarr.json", R"({"zarr_format":3,"node_type":"array","shape":[2,1,2],"data_type":"uint16","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,1,2]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "codecs":[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}],
        "dimension_names":["z","y","x"]})");
    zarr.put("c/0/0/0", std::string("\1\0\2\0\3\0\4\0crcs", 12));
    FrameBlock block;
    zarr.open()->read(1, 1, block);
    std::uint16_t value = 0;
    std::memcpy(&value, block.frame(0), 2);
    EXPECT_EQ(value, 0x300);
}

TEST(ZarrMovie, ome_metadata_say_axes_channels_and_scale) {
    const Zarr zarr(described("", "[2,2,3]"));
    std::filesystem::create_directories(zarr.folder / "m.zarr/0");
    for (const char* name : {".zarray", "0.0.0", "0.0.1", "1.0.0"})
        std::filesystem::rename(zarr.folder / (std::string("m.zarr/") + name),
                                zarr.folder / (std::string("m.zarr/0/") + name));
    zarr.put(".zgroup", R"({"zarr_format":2})");
    zarr.put(
        ".zattrs",
        R"({"multiscales":[{"axes":[{"name":"c"},{"name":"y","unit":"micrometer"},{"name":"x","unit":"micrometer"}],
        "datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,0.1,0.1]}]}]}],
        "omero":{"channels":[{"label":"DAPI"},{"label":"GFP"}]}})");
    expect_error<OptionError>([&] { zarr.open(); }, {"has 2 channels", "(DAPI) or 1 (GFP)"});
    MovieChoice choice;
    choice.channel = "GFP";
    const auto movie = zarr.open(choice);
    EXPECT_NEAR(movie->info().pixel_size_nm.value(), 100, 1e-9);
    EXPECT_EQ(frame_of(*movie, 0)[0], 17);
    zarr.put(".zattrs", R"({"multiscales":[{"datasets":[{"path":"../../etc"}]}]})");
    expect_error<InputError>([&] { zarr.open(); }, {"in ../../etc, outside of the folder"});
    zarr.put(".zattrs", "{}");
    expect_error<InputError>([&] { zarr.open(); }, {"m.zarr: is a Zarr group without an image"});
}

TEST(ZarrMovie, refuses_what_it_cannot_read) {
    const auto refused = [](const std::string& zarray, std::initializer_list<const char*> parts) {
        const Zarr zarr(zarray);
        expect_error<InputError>([&] { zarr.open(); }, parts);
    };
    refused("{", {".zarray: is no JSON object"});
    refused(std::string(100, '[') + std::string(100, ']'), {"nested deeper than 64 levels"});
    refused(described("", "[2,-2,3]"), {"`shape` is [2,-2,3]"});
    refused(described("", "[2,2.5,3]"), {"`shape` is"});
    refused(described("", "[1e300,2,3]"), {"`shape` is"});
    refused(described("", "[2]"), {"a movie has 2 to 8 dimensions"});
    refused(described("", "[2,2,2,3]", "[1,1,2,2]"), {"its 4 dimensions have no names"});
    refused(described("", "[2,2,3]", "[1,2]"), {"has 3 dimensions, and its chunks 2"});
    refused(described("", "[2,2,3]", "[1,0,2]"), {"`chunks` is [1,0,2]"});
    refused(described("", "[2,2,3]", "[1,1000000,1000000]"), {"chunks of 1000000000000 bytes"});
    refused(described("", "[2,60000,60000]"), {"claims frames of 60000x60000 px"});
    refused(described("", "[2,2,40000]", "[1,1,2]"), {"a frame lies in 40000 chunks, more than the limit of 16384"});
    refused(described("", "[4096,9,30000]", "[4096,3,300]"),
            {"the 300 chunks that hold a frame have 1105920000 bytes", "with chunks of fewer frames"});
    refused(described(R"(,"compressor":{"id":"bz2"})"), {"the codec bz2, which is not read"});
    refused(described(R"(,"filters":[{"id":"delta"}])"), {"the filter delta"});
    refused(described(R"(,"dtype":"<c8")"), {"has the type <c8"});
}

TEST(ZarrMovie, damaged_chunks_are_named) {
    const Zarr zarr;
    zarr.put("0.0.1", "\1\2\3");
    const auto movie = zarr.open();
    FrameBlock block;
    expect_error<InputError>([&] { movie->read(0, 2, block); },
                             {"m.zarr: frame 0 cannot be read", "0.0.1 is damaged: it has 3 bytes, not 4"});
    std::filesystem::remove(zarr.folder / "m.zarr/0.0.0");
    EXPECT_NE(zarr.open()->info().warnings.at(0).find("the chunk 0.0.0 is not there"), std::string::npos);
}

TEST(Blosc, damaged_buffers_are_refused) {
    const auto unpack = [](const std::string& packed, std::size_t bytes) {
        std::vector<std::byte> out(bytes);
        zarr::unpack_blosc(std::as_bytes(std::span(packed)), out);
    };
    // 16 bytes in one block of 16, LZ4, shuffled, 32 bytes with this header.
    const std::string head("\2\1\x21\2\x10\0\0\0\x10\0\0\0\x20\0\0\0", 16);
    const auto padded = [&](std::string bytes) { return (bytes.resize(16), head + bytes); };
    expect_error<std::runtime_error>([&] { unpack(head.substr(0, 9), 16); }, {"ends too early"});
    expect_error<std::runtime_error>([&] { unpack(head, 16); }, {"ends too early"});
    expect_error<std::runtime_error>([&] { unpack(padded(""), 17); }, {"unpacks to 16 bytes, not 17"});
    expect_error<std::runtime_error>([&] { unpack(padded("\xff\xff\xff\x7f"), 16); }, {"codec LZ4, are damaged"});
    expect_error<std::runtime_error>([&] { unpack(padded(std::string("\x14\0\0\0\xff\xff\xff\xff", 8)), 16); },
                                     {"codec LZ4, are damaged"});
    std::string unknown = padded("");
    unknown[2] = char(0xc1);
    expect_error<std::runtime_error>([&] { unpack(unknown, 16); }, {"codec with an unknown number"});
}

TEST(Lz4, lengths_and_distances_are_checked) {
    const auto unpack = [](const std::string& packed, std::size_t bytes) {
        std::vector<std::byte> out(bytes);
        zarr::unpack_lz4(std::as_bytes(std::span(packed)), out);
        return std::string(reinterpret_cast<const char*>(out.data()), out.size());
    };
    // LZ4: two bytes, six copied from two bytes before, and twelve, because a block ends with bytes that are not
    // copied.
    const std::string packed = std::string("\x22\x61\x62\2\0\xc0", 6) + std::string(12, 'z');
    EXPECT_EQ(unpack(packed, 20), "abababab" + std::string(12, 'z'));
    expect_error<std::runtime_error>([&] { unpack(packed, 21); }, {"unpacks to 20 bytes, not 21"});
    expect_error<std::runtime_error>([&] { unpack(packed, 19); }, {"damaged"});
    std::string far = packed;
    far[3] = 3;
    expect_error<std::runtime_error>([&] { unpack(far, 20); }, {"damaged"});
    expect_error<std::runtime_error>([&] { unpack(std::string("\xf0\xff", 2), 9); }, {"damaged"});
    expect_error<std::runtime_error>([&] { unpack("", 9); }, {"damaged"});
}
