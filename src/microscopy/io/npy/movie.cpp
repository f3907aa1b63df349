// Movies that NumPy saved: an array of (frames, y, x).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "glint/error.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/npy/values.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

using namespace std::string_view_literals;

bool is_npy(const InputFile& file, const std::filesystem::path&) { return begins_with(file, "\x93NUMPY"sv); }

std::unique_ptr<Movie> open_npy(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const NpyHeader header = read_npy_header(InputFile(path));
    static const std::map<std::string, StoredPixel> types = {
        {"u1", StoredPixel::uint8},   {"u2", StoredPixel::uint16}, {"u4", StoredPixel::uint32},
        {"u8", StoredPixel::uint64},  {"i1", StoredPixel::int8},   {"i2", StoredPixel::int16},
        {"i4", StoredPixel::int32},   {"i8", StoredPixel::int64},  {"f2", StoredPixel::float16},
        {"f4", StoredPixel::float32}, {"f8", StoredPixel::float64}};
    const auto type = types.find(header.type);
    const auto refuse = [&](const std::string& why) {
        throw InputError(
            fmt::format("{}: {}: save it by numpy.save(file, movie.astype('uint16')), with frames as "
                        "(time, y, x)",
                        path.string(), why));
    };
    if (type == types.end()) refuse(fmt::format("has values of the type {}, which are no pixels", header.type));
    std::vector<std::uint64_t> shape = header.shape;
    while (shape.size() > 3 && std::find(shape.begin(), shape.end(), 1u) != shape.end())
        shape.erase(std::find(shape.begin(), shape.end(), 1u));
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    if (shape.size() != 3)
        refuse(fmt::format("has the shape ({}), and a movie is (frames, y, x)", fmt::join(header.shape, ", ")));
    const auto largest = std::uint64_t(std::numeric_limits<std::int64_t>::max() >> 20);
    if (std::min({shape[0], shape[1], shape[2]}) < 1 || std::max(shape[1], shape[2]) > largest_edge_px ||
        shape[0] > largest)
        refuse(fmt::format("has the shape ({}), and frames have 1 to {} px along an edge",
                           fmt::join(header.shape, ", "), largest_edge_px));
    if (header.fortran_order && shape[0] > 1)
        refuse("is stored in Fortran's order, in which no frame is in one piece (numpy.ascontiguousarray)");
    PlainFrames frames;
    frames.info.frames = std::int64_t(shape[0]);
    frames.info.height = int(shape[1]), frames.info.width = int(shape[2]);
    frames.stored = type->second;
    frames.big_endian = header.byte_order == '>';
    frames.columns_first = header.fortran_order;
    frames.first_byte = header.data_offset;
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat npy_movies{{"NumPy .npy", "", ".npy", "Fortran order; .npz"}, is_npy, open_npy};

}  // namespace glint
