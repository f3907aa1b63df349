// PNG pictures in files: checked before they are written, and read by libpng.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <png.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/write_into.hpp"
#include "io/png_encoder.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr int largest_edge = 1'000'000;

/// libpng reports errors by calling back; an exception would have to cross C code, so the message is kept and a
/// longjmp leads back (only trivial variables live across it).
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
        if (bytes > 1100.0 * double(fs::file_size(path_)))  // deflate cannot shrink more: a hostile header
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
