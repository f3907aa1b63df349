// Grey PNG files as frames: one file, or all files of a folder in the natural order of their names.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <png.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <csetjmp>
#include <memory>
#include <vector>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/decoded_movie.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n"sv, header_chunk = "\0\0\0\x0dIHDR"sv,
                           end_chunk = "\0\0\0\0IEND\xae\x42\x60\x82"sv;
constexpr std::uint64_t png_header_bytes = 33;
/// Deflate shrinks data to 1/1032 at best.
constexpr std::uint64_t max_png_compression = 1100;

struct PngHeader {
    std::uint32_t width = 0, height = 0;
    int bits = 0, colour = 0;
    std::uint64_t frame_bytes() const { return std::uint64_t(width) * height * std::uint64_t(bits / 8); }
};

/// Throws std::runtime_error with the bare reason.
PngHeader read_png_header(const InputFile& file) {
    const std::string head = bytes_at(file, 0, png_header_bytes);
    if (!head.starts_with(png_signature) || head.substr(8, 8) != header_chunk || head.size() < png_header_bytes)
        throw std::runtime_error("is no PNG file, or a damaged one");
    return {number_at<std::uint32_t>(head, 16, true), number_at<std::uint32_t>(head, 20, true),
            number_at<std::uint8_t>(head, 24), number_at<std::uint8_t>(head, 25)};
}

/// Returns why the file is not a frame; empty for grey pixels of 8 or 16 bits.
std::string why_no_frame(const PngHeader& header, std::uint64_t file_bytes) {
    if (header.colour == PNG_COLOR_TYPE_PALETTE)
        return "has a palette, whose indices are no counts: save it as grey PNG or TIFF";
    if (header.colour & PNG_COLOR_MASK_COLOR) return "is a colour picture: save one channel as grey PNG or TIFF";
    if (header.colour & PNG_COLOR_MASK_ALPHA) return "has an alpha channel: save it as grey PNG or TIFF without alpha";
    if (header.bits != 8 && header.bits != 16)
        return fmt::format("has pixels of {} bits, and 8 and 16 are read: save it as grey PNG of 8 bits", header.bits);
    if (header.width < 1 || header.height < 1 || header.width > largest_edge_px || header.height > largest_edge_px)
        return fmt::format("claims {}x{} px, and frames of 1 to {} px are read", header.width, header.height,
                           largest_edge_px);
    if (header.frame_bytes() / max_png_compression > file_bytes)
        return fmt::format("claims {}x{} px, more than its {} bytes can hold", header.width, header.height, file_bytes);
    return {};
}

/// Decodes one file from memory. libpng reports errors by a callback, which must not throw through C: it jumps back
/// instead.
class PngDecoder {
  public:
    explicit PngDecoder(std::string bytes) : bytes_(std::move(bytes)) {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
        info_ = png_ ? png_create_info_struct(png_) : nullptr;
        if (!info_) png_destroy_read_struct(&png_, nullptr, nullptr);
    }
    ~PngDecoder() {
        if (info_) png_destroy_read_struct(&png_, &info_, nullptr);
    }
    PngDecoder(const PngDecoder&) = delete;
    PngDecoder& operator=(const PngDecoder&) = delete;

    /// Throws std::runtime_error with the bare reason.
    void decode(const PngHeader& like, std::byte* out) {
        if (!info_) throw std::bad_alloc();
        rows_.resize(like.height);
        const std::size_t row_bytes = std::size_t(like.width) * std::size_t(like.bits / 8);
        for (std::size_t y = 0; y < rows_.size(); ++y) rows_[y] = reinterpret_cast<png_bytep>(out + y * row_bytes);
        if (!read_rows(row_bytes)) throw std::runtime_error("its pixels are damaged: " + message_);
    }

  private:
    bool read_rows(std::size_t row_bytes) {
        if (setjmp(png_jmpbuf(png_))) return false;
        png_set_user_limits(png_, largest_edge_px, largest_edge_px);
        png_set_read_fn(png_, this, give_bytes);
        png_read_info(png_, info_);
        if (host_is_little_endian) png_set_swap(png_);
        png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        if (png_get_rowbytes(png_, info_) != row_bytes || png_get_image_height(png_, info_) != rows_.size())
            png_error(png_, "it is of another size than when it was opened");
        png_read_image(png_, rows_.data());
        png_read_end(png_, nullptr);
        return true;
    }
    static void on_error(png_structp png, png_const_charp message) {
        static_cast<PngDecoder*>(png_get_error_ptr(png))->message_ = message;
        png_longjmp(png, 1);
    }
    static void on_warning(png_structp, png_const_charp) {}
    static void give_bytes(png_structp png, png_bytep out, std::size_t count) {
        auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
        if (count > self->bytes_.size() - self->at_) png_error(png, "the file ends within them");
        std::copy_n(self->bytes_.data() + self->at_, count, out);
        self->at_ += count;
    }

    std::string bytes_, message_;
    std::size_t at_ = 0;
    std::vector<png_bytep> rows_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
};

void decode_png(const fs::path& path, const PngHeader& first, std::byte* out) {
    const InputFile file(path);
    const PngHeader header = read_png_header(file);
    if (header.width != first.width || header.height != first.height || header.bits != first.bits ||
        header.colour != first.colour)
        throw std::runtime_error("it is of another size than when it was opened");
    PngDecoder(bytes_at(file, 0, file.size())).decode(header, out);
}

/// The result of opening a file.
struct LookedAt {
    PngHeader header;
    std::string broken = {};    ///< why its pixels cannot be read
    std::string no_frame = {};  ///< why it can never be a frame
};

/// Opens a file. Decodes it if it does not end like a PNG: it may be truncated, or have other bytes after its end.
LookedAt look_at(const fs::path& path) {
    LookedAt looked;
    std::error_code ignored;
    if (fs::file_size(path, ignored) == 0 && !ignored) {
        looked.broken = "is empty (0 bytes)";
        return looked;
    }
    try {
        const InputFile file(path);
        looked.header = read_png_header(file);
        looked.no_frame = why_no_frame(looked.header, file.size());
        const bool is_whole = bytes_at(file, file.size() - std::min<std::uint64_t>(file.size(), end_chunk.size()),
                                       end_chunk.size()) == end_chunk;
        if (is_whole || !looked.no_frame.empty()) return looked;
        std::vector<std::byte> frame(static_cast<std::size_t>(looked.header.frame_bytes()));
        decode_png(path, looked.header, frame.data());
    } catch (const Error&) {
        throw;
    } catch (const std::runtime_error& error) {
        looked.broken = error.what();
    }
    return looked;
}

MovieInfo info_like(const PngHeader& first, const std::string& name) {
    MovieInfo info;
    info.name = name;
    info.width = int(first.width), info.height = int(first.height);
    info.type = first.bits == 8 ? PixelType::uint8 : PixelType::uint16;
    return info;
}

std::unique_ptr<Movie> movie_of_pngs(const std::string& path, MovieInfo info, const PngHeader& first) {
    info.frames = std::int64_t(info.files.size());
    return decoded_movie(path, info, [files = info.files, first](std::int64_t frame, std::byte* out) {
        const fs::path& file = files[std::size_t(frame)];
        try {
            decode_png(file, first, out);
        } catch (const Error&) {
            throw;
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(fmt::format("{}: {}", file.filename().string(), error.what()));
        }
    });
}

struct PngFiles {
    std::vector<std::string> pngs, others;
};

PngFiles list_pngs(const fs::path& folder) {
    std::error_code failed;
    PngFiles found;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code ignored;
        const std::string name = entry->path().filename().string();
        if (name.starts_with('.')) continue;
        const bool is_png = in_lower_case(entry->path().extension().string()) == ".png";
        if (is_png ? is_readable_file(*entry) : entry->is_regular_file(ignored))
            (is_png ? found.pngs : found.others).push_back(name);
    }
    if (failed) throw InputError(fmt::format("{}: cannot be listed ({})", folder.string(), failed.message()));
    sort_by_number(found.pngs);
    std::sort(found.others.begin(), found.others.end(), natural_less);
    return found;
}

void warn_of_others(const std::vector<std::string>& others, MovieInfo& info) {
    if (others.empty()) return;
    info.warnings.push_back(fmt::format(
        "{}: {} ignored, being no PNG by {}: {}{}", info.name,
        others.size() == 1 ? "1 other file is" : fmt::format("{} other files are", others.size()),
        others.size() == 1 ? "its name" : "their names", others.front(), others.size() == 1 ? "" : ", ..."));
}

/// Collects the files up to the first broken one: frames after it would get wrong numbers.
void take_pngs(const fs::path& folder, const std::vector<std::string>& names, const std::vector<LookedAt>& looked,
               MovieInfo& info) {
    const PngHeader& first = looked.front().header;
    for (std::size_t k = 0; k < names.size(); ++k) {
        const LookedAt& one = looked[k];
        const std::string path = (folder / names[k]).string();
        if (!one.broken.empty()) {
            const std::size_t behind = names.size() - k - 1;
            if (k == 0) throw InputError(fmt::format("{}: {}; no frame is usable", path, one.broken));
            info.warnings.push_back(
                fmt::format("{}: {}; {}", path, one.broken,
                            behind == 0 ? "it is the last file, and is left out"
                                        : fmt::format("the movie ends before it, and {} behind it {} left out", behind,
                                                      behind == 1 ? "is" : "are")));
            return;
        }
        if (!one.no_frame.empty()) throw InputError(fmt::format("{}: {}", path, one.no_frame));
        if (one.header.width != first.width || one.header.height != first.height || one.header.bits != first.bits)
            throw InputError(fmt::format(
                "{}: has {}x{} px of {} bits, and {}, the first of its folder, {}x{} px of {}: the frames of a movie "
                "have one size and type; move other files to another folder",
                path, one.header.width, one.header.height, one.header.bits, names.front(), first.width, first.height,
                first.bits));
        info.files.push_back(folder / names[k]);
    }
}

bool is_png(const InputFile& file, const fs::path&) { return begins_with(file, png_signature); }

std::unique_ptr<Movie> open_png(const fs::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const LookedAt looked = look_at(path);
    const std::string& why = looked.broken.empty() ? looked.no_frame : looked.broken;
    if (!why.empty()) throw InputError(fmt::format("{}: {}", path.string(), why));
    MovieInfo info = info_like(looked.header, path.filename().string());
    info.files = {path};
    return movie_of_pngs(path.string(), std::move(info), looked.header);
}

bool is_png_folder(const fs::path& folder) {
    std::error_code failed, ignored;
    bool found = false;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        const std::string extension = in_lower_case(entry->path().extension().string());
        if (extension == ".tif" || extension == ".tiff") return false;
        found = found || (extension == ".png" && !entry->path().filename().string().starts_with('.') &&
                          (entry->is_regular_file(ignored) || is_lost_link(entry->path())));
    }
    return found;
}

std::unique_ptr<Movie> open_png_folder(const fs::path& folder, const MovieChoice& choice, ScanState*) {
    require_single_planes(choice, folder.string());
    const PngFiles names = list_pngs(folder);
    if (names.pngs.empty()) throw InputError(fmt::format("{}: has no PNG file any more", folder.string()));
    std::vector<LookedAt> looked(names.pngs.size());
    tbb_threads();
    tbb::parallel_for(std::size_t(0), looked.size(),
                      [&](std::size_t k) { looked[k] = look_at(folder / names.pngs[k]); });
    const std::string name =
        folder.filename().empty() ? folder.parent_path().filename().string() : folder.filename().string();
    MovieInfo info = info_like(looked.front().header, name);
    take_pngs(folder, names.pngs, looked, info);
    if (std::string gaps = missing_numbers(info.files, name); !gaps.empty()) info.warnings.push_back(std::move(gaps));
    warn_of_others(names.others, info);
    return movie_of_pngs(folder.string(), std::move(info), looked.front().header);
}

}  // namespace

constinit const MovieFormat png_movies{{"PNG", "", ".png", "colour, palettes, alpha; 1 to 4 bits"}, is_png, open_png};
constinit const FolderFormat png_folder_movies{
    {"folders of PNG", "", "", "colour, palettes, alpha; 1 to 4 bits"}, is_png_folder, nullptr, open_png_folder};

}  // namespace glint
