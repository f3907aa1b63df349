// Picasso's raw movies: headerless frames, described by a .yaml beside them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/picasso/lenient_yaml.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

// Real files have some kB; yaml-cpp needs up to 500 bytes for each byte.
constexpr std::uint64_t largest_yaml_bytes = std::uint64_t(1) << 20;
constexpr std::int64_t largest_frames = std::int64_t(1) << 40;

/// The .yaml's first document, with errors that name file and key.
class Description {
  public:
    explicit Description(const std::filesystem::path& path);
    std::string text(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::int64_t most) const;
    /// Returns a positive number of the document, or of its mapping `within` if given.
    std::optional<double> positive(const std::string& key, const char* within = nullptr) const;
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(
            fmt::format("{}: {}; a raw movie needs Data Type, Frames, Height, Width and Byte Order there", name_, why));
    }

    const std::vector<std::string>& repeated() const { return repeated_; }

  private:
    std::string name_;
    YAML::Node node_;
    std::vector<std::string> repeated_;
};

Description::Description(const std::filesystem::path& path) : name_(path.string()) {
    const InputFile file(path);
    if (file.size() > largest_yaml_bytes) refuse(fmt::format("has {} bytes, too many for a description", file.size()));
    std::string text(std::size_t(file.size()), '\0');
    text.resize(file.read_at(0, reinterpret_cast<std::byte*>(text.data()), text.size()));
    try {
        // Not LoadAll, which never ends on some texts, such as ",x, y".
        node_ = YAML::Load(without_python_objects(first_document(text)));
    } catch (const YAML::Exception& error) {
        refuse(fmt::format("is no YAML ({})", error.what()));
    }
    if (!node_.IsMap()) refuse("has no keys");
    repeated_ = keep_last_values(node_);
}

std::string Description::text(const std::string& key) const {
    const YAML::Node value = node_[key];
    if (!value || !value.IsScalar()) refuse(fmt::format("lacks `{}`", key));
    return value.Scalar();
}

std::int64_t Description::integer(const std::string& key, std::int64_t most) const {
    const std::string written = text(key);
    double value = 0;  // "32.0" and "3.2e1" are whole numbers too
    if (!YAML::convert<double>::decode(node_[key], value) || value != std::floor(value))
        refuse(fmt::format("`{}: {}` is no whole number", key, written));
    if (!(value >= 1 && value <= double(most))) refuse(fmt::format("`{}: {}` is outside 1 to {}", key, written, most));
    return std::int64_t(value);
}

std::optional<double> Description::positive(const std::string& key, const char* within) const {
    const YAML::Node outer = within ? node_[within] : node_;
    if (!outer || !outer.IsMap()) return std::nullopt;
    const YAML::Node value = outer[key];
    double number = 0;
    if (!value || !value.IsScalar() || !YAML::convert<double>::decode(value, number)) return std::nullopt;
    if (!(number > 0) || !std::isfinite(number)) return std::nullopt;
    return number;
}

PixelType pixel_type(const Description& yaml) {
    const std::string type = yaml.text("Data Type");
    if (type == "uint8") return PixelType::uint8;
    if (type == "uint16") return PixelType::uint16;
    if (type == "float32") return PixelType::float32;
    yaml.refuse(fmt::format("`Data Type: {}` is not read; uint8, uint16 and float32 are", type));
}

bool is_big_endian(const Description& yaml, PixelType type) {
    if (type == PixelType::uint8) return false;
    const std::string order = yaml.text("Byte Order");
    if (order != "<" && order != ">") yaml.refuse(fmt::format("`Byte Order: {}` is neither < nor >", order));
    return order == ">";
}

MovieInfo read_description(const Description& yaml) {
    MovieInfo info;
    info.type = pixel_type(yaml);
    info.width = int(yaml.integer("Width", largest_edge_px));
    info.height = int(yaml.integer("Height", largest_edge_px));
    info.frames = yaml.integer("Frames", largest_frames);
    info.pixel_size_nm = yaml.positive("Pixelsize");
    if (!info.pixel_size_nm) info.pixel_size_nm = yaml.positive("Camera.Pixelsize");
    if (!info.pixel_size_nm) info.pixel_size_nm = yaml.positive("Pixelsize", "Camera");
    info.offset_adu = yaml.positive("Baseline");
    info.gain_e_per_adu = yaml.positive("Sensitivity");
    info.em_gain = yaml.positive("Gain");
    return info;
}

/// Warns if the file is longer than described.
void check_length(const std::filesystem::path& path, MovieInfo& info, int pixel_bytes) {
    const std::uint64_t frame_bytes = std::uint64_t(info.width) * info.height * pixel_bytes,
                        size = InputFile(path).size();
    const std::string described =
        fmt::format("{} frames of {}x{} pixels of {} bytes", info.frames, info.width, info.height, pixel_bytes);
    if (size < frame_bytes)
        throw InputError(
            fmt::format("{}: has {} bytes, less than one frame: its .yaml says {}", path.string(), size, described));
    const std::uint64_t all = std::uint64_t(info.frames) * frame_bytes;
    if (size > all)
        info.warnings.push_back(fmt::format("{}: has {} bytes beyond the {} that its .yaml says",
                                            path.filename().string(), size - all, described));
}

StoredPixel stored_as(PixelType type) {
    return type == PixelType::uint8    ? StoredPixel::uint8
           : type == PixelType::uint16 ? StoredPixel::uint16
                                       : StoredPixel::float32;
}

std::filesystem::path yaml_of(std::filesystem::path path) { return path.replace_extension(".yaml"); }

bool is_raw(const InputFile&, const std::filesystem::path& path) {
    return yaml_of(path) != path && std::filesystem::exists(yaml_of(path));
}

std::unique_ptr<Movie> open_raw(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const Description yaml(yaml_of(path));
    PlainFrames frames;
    frames.info = read_description(yaml);
    frames.stored = stored_as(frames.info.type);
    frames.big_endian = is_big_endian(yaml, frames.info.type);
    frames.files = {yaml_of(path)};
    for (const std::string& key : yaml.repeated())
        frames.info.warnings.push_back(
            fmt::format("{}: has `{}` several times with different values: the last one counts, as in "
                        "Picasso",
                        yaml_of(path).filename().string(), key));
    check_length(path, frames.info, num_bytes(frames.stored));
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat raw_movies{{"Picasso .raw", "", ".raw", "other types"}, is_raw, open_raw};

}  // namespace glint
