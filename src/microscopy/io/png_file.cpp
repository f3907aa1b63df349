// PNG pictures in files: checked before they are written, encoded by all cores, and read by libpng.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/in_order.hpp"
#include "glint/error.hpp"
#include "glint/picture.hpp"
#include "glint/picture_io.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/write_into.hpp"

namespace glint {
namespace {

// Compresses bands of rows in parallel: pieces of one deflate stream, each ending at a byte (RFC 1950, RFC 1951,
// ISO 15948).
//
// Rows are not filtered, and compressed at zlib's lowest level. Pictures with colour maps have 256 colours, whose
// repetitions deflate finds without filters. Filtered, they would be half as large again, and take longer.
using PngBytes = std::vector<unsigned char>;
constexpr std::size_t png_band_bytes = 1 << 20;

void put_big_endian(std::uint32_t value, PngBytes& to) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<unsigned char>(value >> shift));
}

/// Writes a chunk: length, type, data and checksum.
void write_png_chunk(AtomicFile& file, std::string_view type, const PngBytes& data) {
    PngBytes head;
    put_big_endian(std::uint32_t(data.size()), head);
    head.insert(head.end(), type.begin(), type.end());
    uLong sum = crc32(0, head.data() + 4, 4);
    if (!data.empty()) sum = crc32_z(sum, data.data(), data.size());
    PngBytes tail;
    put_big_endian(std::uint32_t(sum), tail);
    file.write(head.data(), head.size());
    if (!data.empty()) file.write(data.data(), data.size());
    file.write(tail.data(), tail.size());
}

void write_png_header(AtomicFile& file, const RgbPicture& picture) {
    constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
    file.write(signature.data(), signature.size());
    PngBytes header;
    put_big_endian(std::uint32_t(picture.width), header);
    put_big_endian(std::uint32_t(picture.height), header);
    for (const int value : {8, 2, 0, 0, 0})
        header.push_back(static_cast<unsigned char>(value));  // bits, RGB, deflate, filters, no interlace
    write_png_chunk(file, "IHDR", header);
    const double per_metre = picture.pixel_size_nm > 0 ? 1e9 / picture.pixel_size_nm : 0;
    if (!(per_metre >= 0.5 && per_metre < 2147483647.0)) return;
    PngBytes scale;
    put_big_endian(std::uint32_t(std::lround(per_metre)), scale);
    put_big_endian(std::uint32_t(std::lround(per_metre)), scale);
    scale.push_back(1);  // unit: per metre
    write_png_chunk(file, "pHYs", scale);
}

/// Compressed rows of the picture.
struct PngBand {
    PngBytes deflated;
    uLong checksum = 1;  ///< Adler-32 of `bytes`
    std::size_t bytes = 0;
};

/// Returns a piece of a deflate stream that is independent of earlier pieces.
PngBytes deflated_piece(const PngBytes& raw, bool is_last) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    PngBytes out(deflateBound(&stream, uLong(raw.size())) + 16);
    stream.next_in = const_cast<Bytef*>(raw.data()), stream.avail_in = uInt(raw.size());
    stream.next_out = out.data(), stream.avail_out = uInt(out.size());
    const int result = deflate(&stream, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    out.resize(stream.total_out);
    const bool is_done = (is_last ? result == Z_STREAM_END : result == Z_OK) && stream.avail_in == 0;
    deflateEnd(&stream);
    if (!is_done) throw OutputError("zlib could not compress a picture");
    return out;
}

PngBand compressed_band(const RgbPicture& picture, int first_row, int rows, bool is_last) {
    const std::size_t row_bytes = 3 * std::size_t(picture.width);
    PngBytes raw(std::size_t(rows) * (row_bytes + 1));
    for (int row = 0; row < rows; ++row) {
        unsigned char* to = raw.data() + std::size_t(row) * (row_bytes + 1);
        *to = 0;  // no filter
        std::memcpy(to + 1, picture.rgb.data() + std::size_t(first_row + row) * row_bytes, row_bytes);
    }
    return {deflated_piece(raw, is_last), adler32_z(1, raw.data(), raw.size()), raw.size()};
}

/// Writes bands in their order, each as a separate chunk.
class PngBandWriter {
  public:
    PngBandWriter(AtomicFile& file, int bands) : file_(file), bands_(bands) {}

    void write(PngBand& band) {
        if (written_ == 0) band.deflated.insert(band.deflated.begin(), {0x78, 0x01});  // zlib's header
        checksum_ = adler32_combine(checksum_, band.checksum, z_off_t(band.bytes));
        if (++written_ == bands_) put_big_endian(std::uint32_t(checksum_), band.deflated);
        write_png_chunk(file_, "IDAT", band.deflated);
    }

  private:
    AtomicFile& file_;
    int bands_, written_ = 0;
    uLong checksum_ = 1;
};

/// Writes an 8-bit RGB PNG whose bytes do not depend on the number of threads. Throws OutputError.
void encode_png(AtomicFile& file, const RgbPicture& picture) {
    write_png_header(file, picture);
    const int rows = int(std::max<std::size_t>(1, png_band_bytes / (3 * std::size_t(picture.width) + 1)));
    const int bands = (picture.height - 1) / rows + 1;
    PngBandWriter writer(file, bands);
    made_in_order<PngBand>(
        std::size_t(bands),
        [&](std::size_t k, PngBand& band) {
            const int first = int(k) * rows;
            band = compressed_band(picture, first, std::min(rows, picture.height - first), int(k) == bands - 1);
        },
        [&](std::size_t, PngBand& band) { writer.write(band); });
    write_png_chunk(file, "IEND", {});
}

namespace fs = std::filesystem;
constexpr int largest_edge = 1'000'000;

/// libpng reports errors by a callback. An exception would have to cross C code, so the callback stores the message and
/// leaves by longjmp. Only trivial variables are alive across it.
struct Failure {
    std::string message;
};

void on_error(png_structp png, png_const_charp message) {
    static_cast<Failure*>(png_get_error_ptr(png))->message = message;
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void require_rgb(const fs::path& path, const RgbPicture& picture) {
    if (picture.width < 1 || picture.height < 1 || picture.width > largest_edge || picture.height > largest_edge)
        throw OptionError(
            fmt::format("{}: a picture of {}x{} pixels cannot be written (1 to {} a side): choose another "
                        "zoom",
                        path.string(), picture.width, picture.height, largest_edge));
    if (picture.rgb.size() != std::size_t(picture.width) * std::size_t(picture.height) * 3)
        throw OptionError(fmt::format("{}: a picture of {}x{} pixels has {} bytes", path.string(), picture.width,
                                      picture.height, picture.rgb.size()));
}

/// A PNG being read.
class Reader {
  public:
    explicit Reader(const fs::path& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
        if (!file_) throw_cannot_open(path.string(), errno);
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, on_error, on_warning);
        info_ = png_create_info_struct(png_);
    }
    ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

    RgbPicture read() {
        RgbPicture picture;
        if (!read_header(picture)) refuse();
        const double bytes = 3.0 * picture.width * picture.height;
        if (bytes > 1100.0 * double(fs::file_size(path_)))  // deflate cannot shrink data more: a hostile header
            throw InputError(fmt::format("{} claims {}x{} pixels, more than the file can hold", path_.string(),
                                         picture.width, picture.height));
        picture.rgb.resize(std::size_t(bytes));
        rows_.resize(std::size_t(picture.height));
        for (int y = 0; y < picture.height; ++y)
            rows_[std::size_t(y)] = picture.rgb.data() + std::size_t(y) * std::size_t(picture.width) * 3;
        if (!read_pixels()) refuse();
        return picture;
    }

  private:
    [[noreturn]] void refuse() const {
        throw InputError(fmt::format("{} is no PNG picture, or a damaged one: {}", path_.string(), failure_.message));
    }

    bool read_header(RgbPicture& picture) {
        if (setjmp(png_jmpbuf(png_))) return false;
        png_set_user_limits(png_, largest_edge, largest_edge);
        png_init_io(png_, file_.get());
        png_read_info(png_, info_);
        picture.width = int(png_get_image_width(png_, info_));
        picture.height = int(png_get_image_height(png_, info_));
        if (const png_uint_32 resolution = png_get_x_pixels_per_meter(png_, info_))
            picture.pixel_size_nm = 1e9 / resolution;
        png_set_expand(png_);
        png_set_strip_16(png_);
        png_set_strip_alpha(png_);
        png_set_gray_to_rgb(png_);
        png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        return png_get_rowbytes(png_, info_) == std::size_t(picture.width) * 3;
    }

    bool read_pixels() {
        if (setjmp(png_jmpbuf(png_))) return false;
        png_read_image(png_, rows_.data());
        png_read_end(png_, nullptr);
        return true;
    }

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    fs::path path_;
    std::unique_ptr<std::FILE, Close> file_;
    Failure failure_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::vector<png_bytep> rows_;
};

}  // namespace

void write_png(const fs::path& path, const RgbPicture& picture, IfExists if_exists) {
    require_rgb(path, picture);
    AtomicFile file(path, if_exists);
    write_png(file, picture);
    file.commit();
}

void write_png(AtomicFile& file, const RgbPicture& picture) {
    require_rgb(file.target(), picture);
    encode_png(file, picture);
}

RgbPicture read_png(const fs::path& path) { return Reader(path).read(); }

}  // namespace glint
