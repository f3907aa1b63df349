// Opens a movie by its content.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "data/joined_movie.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/earlier_looks.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/ome_set.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Returns true if the movie contains the planes. Sets the size of a slowest axis of unknown size. The movie may have
/// fewer frames than stated if the file is truncated. With a warning, this also holds if the frames are the slowest
/// axis: the recording was then stopped.
bool holds_all(const MovieInfo& movie, std::vector<Axis>& axes, bool truncated, std::string& warning) {
    std::int64_t others = 1;
    for (std::size_t k = 1; k < axes.size(); ++k) others *= std::max<std::int64_t>(axes[k].size, 1);
    if (!axes.empty() && axes.front().size == 0) axes.front().size = std::max<std::int64_t>(1, movie.frames / others);
    const std::int64_t frames = movie.frames, planes = count_of(axes);
    if (planes == frames || (truncated && frames < planes)) return true;
    const auto slowest = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.size > 1; });
    if (slowest == axes.end() || frames > planes || frames * slowest->size < planes ||
        slowest->dimension != Dimension::time)
        return false;
    warning = fmt::format(
        "{}: its metadata state {} planes of several channels, z planes or positions, and {} are there: "
        "the frames that exist are read",
        movie.name, planes, frames);
    return true;
}

/// Returns true if the file's metadata name all files that continue it by their names.
bool names_all(const OmeMovie& ome, const std::vector<fs::path>& continued) {
    return std::all_of(continued.begin(), continued.end(), [&](const fs::path& next) {
        return std::any_of(ome.files.begin(), ome.files.end(),
                           [&](const OmeFile& file) { return file.name == next.filename().string(); });
    });
}

Reopen reopen_tiff(const fs::path& path) {
    return [path] { return open_tiff_movie(path).movie; };
}

/// Opens a file that may only just have been created. Returns nullopt if it has no complete frame yet.
std::optional<TiffMovieFile> open_if_begun(const fs::path& path, ScanState* looks) try {
    std::error_code ignored;  // opening the file reports the problem
    if (fs::file_size(path, ignored) == 0) return std::nullopt;
    return open_tiff_movie(path, looks);
} catch (const BrokenTiff&) {
    return std::nullopt;
}

/// Opens the file and its continuations, page after page.
std::unique_ptr<Movie> open_continued(const fs::path& path, TiffMovieFile first, const std::vector<fs::path>& continued,
                                      ScanState* looks, bool& broken) {
    broken = first.truncated;
    if (continued.empty()) return std::move(first.movie);
    MovieParts parts;
    parts.add(std::move(first.movie), reopen_tiff(path));
    for (const fs::path& next : continued) {
        if (broken) {
            parts.warn(
                fmt::format("{}: continues a truncated file and is left out, as its frames would get wrong numbers",
                            next.filename().string()));
            break;
        }
        std::optional<TiffMovieFile> part = open_if_begun(next, looks);
        broken = !part || part->truncated;
        if (part)
            parts.add(std::move(part->movie), reopen_tiff(next));
        else
            parts.warn(fmt::format("{}: has no whole frame yet, and is left out", next.filename().string()));
    }
    return concatenate(std::move(parts));
}

/// `given`: all files that are opened as one movie.
std::unique_ptr<Movie> open_tiff(const fs::path& path, const std::vector<fs::path>& given, const MovieChoice& choice,
                                 ScanState* looks) {
    TiffMovieFile first = open_tiff_movie(path, looks);
    const auto continued = continuations(path);
    if (needs_ome_set(first, path) && names_all(first.ome, continued))
        return open_ome_set(path, std::move(first), given, choice, looks);
    std::vector<Axis> axes = std::move(first.axes);
    const OmeMovie ome = std::move(first.ome);
    bool broken = false;
    auto movie = open_continued(path, std::move(first), continued, looks, broken);
    std::string other = other_number_of_frames(ome, path.filename().string(), movie->info().frames);
    const bool holds_planes = axes.empty() || holds_all(movie->info(), axes, broken, other);
    if (!broken && !other.empty()) {
        std::vector<std::unique_ptr<Movie>> alone;
        alone.push_back(std::move(movie));
        movie = concatenate(std::move(alone), {other});
    }
    if (axes.empty()) return require_single_planes(choice, path.string()), std::move(movie);
    if (holds_planes) return picked(std::move(movie), chosen_planes(axes, choice, path.string()));
    throw InputError(
        fmt::format("{}: its metadata say that the {} planes of several channels, z planes or positions lie in it, and "
                    "it has {}: which of them are one movie is not known. Save that movie alone",
                    path.string(), count_of(axes), movie->info().frames));
}

constexpr MovieFormatText tiff_text{"TIFF", "ImageJ, OME, Micro-Manager, MetaMorph and others", ".tif .tiff .stk",
                                    "complex, packed and colour pixels"};

#define GLINT_ADDRESS(name) &name##_movies,
constexpr const MovieFormat* formats[] = {GLINT_MOVIE_FILES(GLINT_ADDRESS)};
constexpr const FolderFormat* folder_formats[] = {GLINT_MOVIE_FOLDERS(GLINT_ADDRESS)};
#undef GLINT_ADDRESS

std::unique_ptr<Movie> open_folder(const fs::path& folder, const MovieChoice& choice, ScanState* looks) {
    const auto format = std::find_if(std::begin(folder_formats), std::end(folder_formats),
                                     [&](const FolderFormat* one) { return one->is(folder); });
    return (*format)->open(folder, choice, looks);
}

/// Returns the format with this name's ending; null if none has it, or if recognising the format needs more than
/// the file's beginning.
const MovieFormatText* format_by_ending(const fs::path& path) {
    const std::string ending = in_lower_case(path.extension().string());
    if (ending.empty() || ending == ".raw" || ending == ".dax") return nullptr;
    for (const MovieFormatText& text : movie_formats()) {
        std::istringstream words(text.endings);
        for (std::string word; words >> word;)
            if (word == ending) return &text;
    }
    return nullptr;
}

/// Throws InputError if the file's name ends like a format that its first bytes contradict.
void refuse_damaged(const InputFile& file, const fs::path& path) {
    const MovieFormatText* text = format_by_ending(path);
    if (!text) return;
    constexpr std::size_t shown = 8;
    const std::string head = bytes_at(file, 0, shown);
    const bool is_zero = head.find_first_not_of('\0') == head.npos;
    std::string bytes;
    for (const char c : head) bytes += fmt::format("{}{:02x}", bytes.empty() ? "" : " ", static_cast<unsigned char>(c));
    throw InputError(fmt::format(
        "{}: is no movie that can be read: its name ends like {}{}, and its first bytes ({}{}) are not those of this "
        "format. It is damaged{}, or of another format: copy it again from its source, open it in the "
        "program that wrote it and save it as TIFF, or give it the ending of its format",
        path.string(), text->name, *text->program ? fmt::format(" ({})", text->program) : "", bytes,
        file.size() > shown ? ", ..." : "", is_zero ? " (it begins with zeros, as an interrupted copy does)" : ""));
}

[[noreturn]] void refuse(const fs::path& path) {
    auto yaml = path;
    yaml.replace_extension(".yaml");
    std::string names = tiff_text.name;
    for (const MovieFormat* format : formats) names += fmt::format(", {}", format->text.name);
    throw InputError(
        fmt::format("{}: is no movie: it does not begin like a format that glint reads ({}), and {} is not beside it, "
                    "which a raw movie needs",
                    path.string(), names, yaml.filename().string()));
}

std::unique_ptr<Movie> open_one(const fs::path& path, const std::vector<fs::path>& given, const MovieChoice& choice,
                                ScanState* looks) {
    std::error_code ignored;  // opening the path reports the problem
    if (fs::is_directory(path, ignored)) return open_folder(path, choice, looks);
    const InputFile file(path);
    for (const FolderFormat* format : folder_formats)
        if (format->is_part && format->is_part(path) && format->is(path.parent_path()))
            return format->open(path.parent_path(), choice, looks);
    if (begins_like_tiff(file)) return open_tiff(path, given, choice, looks);
    if (path.extension() == ".csv") refuse_table(path);
    const auto format = std::find_if(std::begin(formats), std::end(formats),
                                     [&](const MovieFormat* one) { return one->is(file, path); });
    if (format == std::end(formats)) refuse_spooled(path);
    if (format == std::end(formats)) refuse_foreign(file);
    if (format == std::end(formats)) refuse_damaged(file, path);
    if (format == std::end(formats)) refuse(path);
    return (*format)->open(path, choice);
}

}  // namespace

const std::vector<MovieFormatText>& movie_formats() {
    static const std::vector<MovieFormatText> all = [] {
        std::vector<MovieFormatText> texts{tiff_text};
        for (const MovieFormat* format : formats) texts.push_back(format->text);
        for (const FolderFormat* format : folder_formats) texts.push_back(format->text);
        return texts;
    }();
    return all;
}

std::string names_of_movie_formats() {
    std::string names;
    for (const MovieFormatText& text : movie_formats())
        names += fmt::format("{}{}{}", names.empty() ? "" : ", ", text.name,
                             *text.program ? fmt::format(" ({})", text.program) : "");
    return names;
}

std::vector<std::string> movie_endings() {
    std::vector<std::string> endings;
    for (const MovieFormatText& text : movie_formats()) {
        std::istringstream words(text.endings);
        for (std::string ending; words >> ending;)
            if (std::find(endings.begin(), endings.end(), ending) == endings.end()) endings.push_back(ending);
    }
    return endings;
}

std::unique_ptr<Movie> open_movie(const fs::path& path, const MovieChoice& choice) {
    return open_joined_movie({path}, choice);
}

std::unique_ptr<Movie> open_joined_movie(const std::vector<fs::path>& paths, const MovieChoice& choice) {
    return open_joined_movie(paths, choice, nullptr);
}

std::unique_ptr<Movie> open_joined_movie(const std::vector<fs::path>& paths, const MovieChoice& choice,
                                         ScanState* looks) {
    const std::vector<fs::path> firsts = without_continuations(paths);
    if (firsts.size() == 1) return open_one(firsts.front(), paths, choice, looks);
    const auto given = std::make_shared<const std::vector<fs::path>>(paths);
    MovieParts parts;
    std::set<fs::path> opened;  // the files of a set are opened by its first
    for (const fs::path& path : firsts) {
        if (opened.contains(real_place(path))) continue;
        auto movie = open_one(path, paths, choice, looks);
        for (const fs::path& file : movie->info().files) opened.insert(real_place(file));
        parts.add(std::move(movie), [=] { return open_one(path, *given, choice, nullptr); });
    }
    return concatenate(std::move(parts));
}

}  // namespace glint
