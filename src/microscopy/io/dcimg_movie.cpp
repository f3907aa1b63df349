// DCIMG movies of Hamamatsu: a header, frames, and some pixels of each frame in another place.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "glint/error.hpp"
#include "io/decoded_movie.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view dcimg_magic = "DCIMG\0"sv;
constexpr std::uint64_t file_header_bytes = 72, first_session_header_bytes = 80, session_header_bytes = 128,
                        crop_at = 712, crop_bytes = 8;
constexpr std::uint32_t first_version = 7;
/// Later versions, whose frames have footers.
constexpr std::uint32_t footer_versions[] = {0x1000000, 0x1050000, 0x2000000};
/// A sensor's line in which the camera link overwrites pixels of frames with footers.
constexpr int line_of_moved_pixels = 1023;
constexpr std::uint64_t bytes_of_moved_pixels = 8, place_in_footer = 12;
constexpr std::uint64_t bytes_of_link_footer = 32, min_bytes_of_long_footer = 512;

[[noreturn]] void refuse_dcimg(const InputFile& file, const std::string& why) {
    throw InputError(
        fmt::format("{}: {}: the file is damaged, or of a version of DCIMG that is not known; export it "
                    "as TIFF in HCImage",
                    file.name(), why));
}

/// Pixels that belong into each frame, and are stored elsewhere.
struct MovedPixels {
    std::uint64_t bytes = 0;     ///< of one frame; 0: none
    std::uint64_t at = 0;        ///< of the first frame's
    std::uint64_t step = 0;      ///< to the next frame's
    std::uint64_t in_frame = 0;  ///< byte of the frame into which they belong
};

/// The session's sizes, and where its frames are.
struct Session {
    std::int64_t frames = 0;
    std::uint32_t pixel_bytes = 0, width = 0, height = 0, row_bytes = 0, frame_bytes = 0;
    std::uint64_t data_at = 0, step = 0;
    std::uint64_t end = 0;  ///< end of the frames; 0: unknown
    MovedPixels moved;
    std::string warning;
};

/// Reads the position of the moved pixels from a session's footer.
void take_footer(const InputFile& file, std::uint64_t footer_at, Session& session) {
    const std::string footer = footer_at < session.data_at ? "" : bytes_at(file, footer_at, 40);
    const auto second_at = number_at<std::uint64_t>(footer, 8);
    constexpr std::uint64_t second_bytes = 112;
    const bool is_there = footer.size() == 40 && number_at<std::uint32_t>(footer, 0) == first_version &&
                          second_at < file.size() - footer_at && file.size() - footer_at - second_at >= second_bytes;
    if (!is_there) {
        session.warning = "its footer is missing, so that the first four pixels of each frame may be wrong";
        return;
    }
    session.end = footer_at;
    const std::string second = bytes_at(file, footer_at + second_at, second_bytes);
    MovedPixels moved;
    moved.bytes = moved.step = number_at<std::uint64_t>(second, 104);
    if (moved.bytes == 0) return;
    const auto offset = number_at<std::uint64_t>(second, 88);
    moved.at = footer_at + offset;
    moved.in_frame = number_at<std::uint32_t>(second, 100);
    const std::uint64_t room = offset < file.size() - footer_at ? file.size() - footer_at - offset : 0;
    if (moved.bytes > bytes_of_moved_pixels || moved.bytes % session.pixel_bytes != 0 ||
        room / moved.bytes < std::uint64_t(session.frames) || moved.in_frame + moved.bytes > session.frame_bytes) {
        session.warning = "its footer contradicts itself, so that the first four pixels of each frame may be wrong";
        return;
    }
    session.moved = moved;
}

/// The header of the session that begins at byte `at`.
std::string session_header(const InputFile& file, std::uint64_t at, std::uint64_t bytes) {
    std::string header = bytes_at(file, at, bytes);
    if (at < file_header_bytes || header.size() < bytes) refuse_dcimg(file, "ends before its frames begin");
    return header;
}

Session first_session(const InputFile& file, std::uint64_t at) {
    const std::string header = session_header(file, at, first_session_header_bytes);
    const auto number = [&](std::size_t byte) { return number_at<std::uint32_t>(header, byte); };
    Session session;
    session.frames = number(32), session.pixel_bytes = number(36);
    session.width = number(44), session.row_bytes = number(48), session.height = number(52);
    session.frame_bytes = number(56), session.data_at = at + number(68), session.step = session.frame_bytes;
    return session;
}

Session session_with_frame_footers(const InputFile& file, std::uint64_t at, std::uint32_t version) {
    const std::string header = session_header(file, at, session_header_bytes),
                      crop = bytes_at(file, at + crop_at, crop_bytes);
    const auto number = [&](std::size_t byte) { return number_at<std::uint32_t>(header, byte); };
    Session session;
    session.frames = number(60), session.pixel_bytes = number(64);
    session.width = number(72), session.height = number(76), session.row_bytes = number(80);
    session.frame_bytes = number(84);
    const auto offset = number_at<std::uint64_t>(header, 96);
    session.data_at = offset < file.size() ? at + offset : file.size();
    const std::uint32_t footer_bytes = number(124);
    session.step = std::uint64_t(session.frame_bytes) + footer_bytes;
    const int top = number_at<std::uint16_t>(crop, 4), rows_of_sensor = number_at<std::uint16_t>(crop, 6);
    const int bin = session.height ? std::max(1, rows_of_sensor / int(std::min(session.height, 65535u))) : 1;
    const int line = version == 0x2000000 ? 0 : top > line_of_moved_pixels ? -1 : (line_of_moved_pixels - top) / bin;
    const bool has_moved = footer_bytes == bytes_of_link_footer || footer_bytes >= min_bytes_of_long_footer;
    if (has_moved && line >= 0 && std::uint32_t(line) < session.height)
        session.moved = {std::min<std::uint64_t>(bytes_of_moved_pixels, session.row_bytes),
                         session.data_at + session.frame_bytes + place_in_footer, session.step,
                         std::uint64_t(line) * session.row_bytes};
    return session;
}

void check_session(const InputFile& file, const Session& session) {
    if (session.pixel_bytes != 1 && session.pixel_bytes != 2)
        refuse_dcimg(file, fmt::format("says pixels of {} bytes", session.pixel_bytes));
    if (session.width < 1 || session.height < 1 || session.width > largest_edge_px || session.height > largest_edge_px)
        refuse_dcimg(file, fmt::format("says frames of {}x{} px", session.width, session.height));
    if (session.row_bytes < session.width * session.pixel_bytes || session.row_bytes > session.frame_bytes ||
        std::uint64_t(session.row_bytes) * session.height != session.frame_bytes)
        refuse_dcimg(file, fmt::format("says frames of {} bytes with rows of {} for {}x{} px", session.frame_bytes,
                                       session.row_bytes, session.width, session.height));
    if (session.frames < 1) refuse_dcimg(file, "says 0 frames");
}

Session read_session(const InputFile& file) {
    const std::string header = bytes_at(file, 0, file_header_bytes);
    const auto version = number_at<std::uint32_t>(header, 8), sessions = number_at<std::uint32_t>(header, 32);
    const std::uint64_t at = number_at<std::uint32_t>(header, 40);
    const bool has_footers =
        std::find(std::begin(footer_versions), std::end(footer_versions), version) != std::end(footer_versions);
    if (version != first_version && !has_footers) refuse_dcimg(file, fmt::format("is of version {:#x}", version));
    if (sessions > 1)
        throw InputError(fmt::format("{}: has {} sessions, and files of one are read: export each as TIFF in HCImage",
                                     file.name(), sessions));
    Session session = has_footers ? session_with_frame_footers(file, at, version) : first_session(file, at);
    check_session(file, session);
    if (!has_footers) {
        const auto offset = number_at<std::uint64_t>(session_header(file, at, first_session_header_bytes), 72);
        take_footer(file, offset < file.size() ? at + offset : file.size(), session);
    }
    return session;
}

class DcimgMovie {
  public:
    explicit DcimgMovie(const std::filesystem::path& path);
    const MovieInfo& info() const { return frames_.info; }
    void decode(std::int64_t frame, std::byte* out) const;

  private:
    void leave_out_truncated();

    InputFile file_;
    Session session_;
    PlainFrames frames_;
};

DcimgMovie::DcimgMovie(const std::filesystem::path& path) : file_(path), session_(read_session(file_)) {
    frames_.stored = session_.pixel_bytes == 1 ? StoredPixel::uint8 : StoredPixel::uint16;
    frames_.row_bytes = session_.row_bytes;
    MovieInfo& info = frames_.info;
    info.name = path.filename().string();
    info.files = {path};
    info.width = int(session_.width), info.height = int(session_.height);
    info.frames = session_.frames;
    info.type = movie_type(frames_.stored);
    if (!session_.warning.empty()) info.warnings.push_back(fmt::format("{}: {}", info.name, session_.warning));
    leave_out_truncated();
    file_.expect_sequential_reads();
}

/// Leaves out truncated frames. A frame is whole only with its footer, if it has one, because that holds some of its
/// pixels.
void DcimgMovie::leave_out_truncated() {
    MovieInfo& info = frames_.info;
    const std::uint64_t end = session_.end ? session_.end : file_.size();
    const std::uint64_t room = end - std::min(end, session_.data_at);
    const std::int64_t whole = std::min(info.frames, std::int64_t(room / session_.step));
    if (whole == info.frames) return;
    const std::string what = fmt::format("{}: frame {} of {} is truncated (expected {} bytes, found {})",
                                         whole == 0 ? file_.name() : info.name, whole + 1, info.frames, session_.step,
                                         room - std::uint64_t(whole) * session_.step);
    if (whole == 0) throw InputError(what + "; no frame is usable");
    info.warnings.push_back(fmt::format("{}; the first {} frames are usable", what, whole));
    info.frames = whole;
}

void DcimgMovie::decode(std::int64_t frame, std::byte* out) const {
    std::vector<std::byte> stored(session_.frame_bytes);
    const auto read = [&](std::uint64_t at, std::byte* to, std::uint64_t bytes) {
        if (file_.read_at(at, to, std::size_t(bytes)) != bytes)
            throw std::runtime_error("the file became shorter after it was opened");
    };
    read(session_.data_at + std::uint64_t(frame) * session_.step, stored.data(), stored.size());
    const MovedPixels& moved = session_.moved;
    if (moved.bytes > 0)
        read(moved.at + std::uint64_t(frame) * moved.step, stored.data() + moved.in_frame, moved.bytes);
    to_movie_pixels(frames_, stored, out);
}

bool is_dcimg(const InputFile& file, const std::filesystem::path&) { return begins_with(file, dcimg_magic); }

std::unique_ptr<Movie> open_dcimg(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const auto movie = std::make_shared<const DcimgMovie>(path);
    return decoded_movie(path.string(), movie->info(),
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const MovieFormat dcimg_movies{
    {"DCIMG", "Hamamatsu HCImage", ".dcimg", "several sessions in one file"}, is_dcimg, open_dcimg};

}  // namespace glint
