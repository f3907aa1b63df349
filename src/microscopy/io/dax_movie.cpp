// DAX movies of storm-analysis and Insight3: headerless 16-bit frames, described by an .inf beside them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_inf_bytes = std::uint64_t(1) << 20;  // real ones have less than 1 kB

/// Returns the .inf beside the movie, in either case; empty if there is none.
fs::path inf_of(fs::path path) {
    for (const char* extension : {".inf", ".INF", ".Inf"})
        if (fs::exists(path.replace_extension(extension))) return path;
    return {};
}

/// The lines `key = value` of an .inf. Version 3 writes keys with underscores and texts in quotes.
class Inf {
  public:
    explicit Inf(const fs::path& path);
    std::string text(const std::string& key) const {
        const auto found = values_.find(key);
        return found == values_.end() ? "" : found->second;
    }
    std::string text(const std::string& key, const std::string& other) const {
        return text(key).empty() ? text(other) : text(key);
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format(
            "{}: {}; a DAX movie needs `frame dimensions = WIDTH x HEIGHT` and `data type = 16 bit integers "
            "(binary, big endian)`, or little endian, there",
            name_, why));
    }

  private:
    void take_line(std::string_view line);

    std::string name_;
    std::map<std::string, std::string> values_;
};

Inf::Inf(const fs::path& path) : name_(path.string()) {
    const InputFile file(path);
    if (file.size() > largest_inf_bytes) refuse(fmt::format("has {} bytes, too many for a description", file.size()));
    const std::string text = bytes_at(file, 0, largest_inf_bytes);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
        take_line(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
    }
}

void Inf::take_line(std::string_view line) {
    const auto equals = line.find('=');
    if (equals == line.npos) return;
    std::string key = in_lower_case(trimmed(line.substr(0, equals)));
    std::replace(key.begin(), key.end(), '_', ' ');
    values_.emplace(std::move(key), trimmed(line.substr(equals + 1), " \t\""));
}

int edge(const Inf& inf, const std::string& line, std::string_view text) {
    const auto px = number_of<int>(trimmed(text));
    if (!px || *px < 1 || *px > largest_edge_px)
        inf.refuse(fmt::format("`{}` are no dimensions of 1 to {} px", line, largest_edge_px));
    return *px;
}

void take_dimensions(const Inf& inf, MovieInfo& info) {
    const std::string x = inf.text("frame x size"), y = inf.text("frame y size");
    const std::string both = x.empty() || y.empty() ? inf.text("frame dimensions") : x + " x " + y;
    if (both.empty()) inf.refuse("does not say `frame dimensions`");
    const std::string line = "frame dimensions = " + both;
    const auto by = both.find('x');
    if (by == both.npos) inf.refuse(fmt::format("`{}` are no dimensions", line));
    info.width = edge(inf, line, std::string_view(both).substr(0, by));
    info.height = edge(inf, line, std::string_view(both).substr(by + 1));
}

bool is_big_endian(const Inf& inf) {
    const std::string written = inf.text("data type", "dax data type"), type = in_lower_case(written);
    if (written.empty()) inf.refuse("does not say `data type`");
    if (!type.starts_with("16 bit") && !type.starts_with("uint16"))
        inf.refuse(fmt::format("`data type = {}` is not read", written));
    const bool big = type.find("big") != type.npos, little = type.find("little") != type.npos;
    if (big == little) inf.refuse(fmt::format("`data type = {}` does not say which byte order", written));
    return big;
}

// Uses the gain of an EMCCD only in the modes whose setting is the multiplication itself.
void take_camera(const Inf& inf, MovieInfo& info) {
    info.camera = inf.text("camera head", "camera model");
    if (const auto seconds = positive_number_of(inf.text("exposure time"))) info.exposure_ms = *seconds * 1e3;
    const std::string mode = in_lower_case(inf.text("em gain mode"));
    if (mode == "linear" || mode == "real") info.em_gain = positive_number_of(inf.text("emccd gain"));
}

/// Sets the number of frames from the description, else from the file's size.
void take_frames(const Inf& inf, const InputFile& file, const std::string& inf_name, MovieInfo& info) {
    const std::string name = fs::path(file.name()).filename().string(), written = inf.text("number of frames");
    const std::uint64_t frame_bytes = std::uint64_t(info.width) * info.height * 2;
    if (file.size() < frame_bytes)
        throw InputError(fmt::format("{}: has {} bytes, less than one frame: {} says frames of {}x{} pixels of 2 bytes",
                                     file.name(), file.size(), inf_name, info.width, info.height));
    const auto described = number_of<std::int64_t>(written);
    if (!written.empty() && !described) inf.refuse(fmt::format("`number of frames = {}` is no number", written));
    if (described && *described > std::int64_t(1) << 40)
        inf.refuse(fmt::format("`number of frames = {}` is more than a movie has", written));
    info.frames = described && *described > 0 ? *described : std::int64_t(file.size() / frame_bytes);
    if (described && *described < 1)
        info.warnings.push_back(
            fmt::format("{}: {} says {} frames; all {} of the file are read", name, inf_name, *described, info.frames));
    const std::uint64_t all = std::uint64_t(info.frames) * frame_bytes;
    if (described && file.size() > all)
        info.warnings.push_back(fmt::format("{}: has {} bytes beyond the {} frames of {}x{} pixels that {} says", name,
                                            file.size() - all, info.frames, info.width, info.height, inf_name));
}

bool is_dax(const InputFile&, const fs::path& path) { return in_lower_case(path.extension().string()) == ".dax"; }

std::unique_ptr<Movie> open_dax(const fs::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const fs::path inf_path = inf_of(path);
    if (inf_path.empty())
        throw InputError(
            fmt::format("{}: {}.inf is not beside it: a DAX movie has no header, and its size and byte order stand "
                        "there; copy it from where the movie was recorded",
                        path.string(), path.stem().string()));
    const Inf inf(inf_path);
    PlainFrames frames;
    take_dimensions(inf, frames.info);
    frames.big_endian = is_big_endian(inf);
    take_camera(inf, frames.info);
    take_frames(inf, InputFile(path), inf_path.filename().string(), frames.info);
    frames.files = {inf_path};
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat dax_movies{
    {"DAX", "storm-analysis, Insight3", ".dax", "a .dax without its .inf"}, is_dax, open_dax};

}  // namespace glint
