// Picasso's raw movies: headerless frames, described by a .yaml beside them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "data/frame_block.hpp"
#include "data/unreadable_frame.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/movie_readers.hpp"

namespace glint {
namespace {

// Real ones have some kB; yaml-cpp takes up to 500 bytes for each.
constexpr std::uint64_t largest_yaml_bytes = std::uint64_t(1) << 20;
constexpr std::int64_t largest_edge_px = 65535, largest_frames = std::int64_t(1) << 40;

/// The .yaml's first document, with errors that name file and key.
class Description {
  public:
    explicit Description(const std::filesystem::path& path);
    std::string text(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::int64_t most) const;
    std::optional<double> positive(const std::string& key) const;
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(
            fmt::format("{}: {}; a raw movie needs Data Type, Frames, Height, Width and Byte Order there", name_, why));
    }

  private:
    std::string name_;
    YAML::Node node_;
};

Description::Description(const std::filesystem::path& path) : name_(path.string()) {
    const InputFile file(path);
    if (file.size() > largest_yaml_bytes) refuse(fmt::format("has {} bytes, too many for a description", file.size()));
    std::string text(std::size_t(file.size()), '\0');
    text.resize(file.read_at(0, reinterpret_cast<std::byte*>(text.data()), text.size()));
    try {
        node_ = YAML::Load(text);  // the first document; LoadAll never ends on some texts, ",x, y" for one
    } catch (const YAML::Exception& error) {
        refuse(fmt::format("is no YAML ({})", error.what()));
    }
    if (!node_.IsMap()) refuse("has no keys");
}

std::string Description::text(const std::string& key) const {
    const YAML::Node value = node_[key];
    if (!value || !value.IsScalar()) refuse(fmt::format("lacks `{}`", key));
    return value.Scalar();
}

std::int64_t Description::integer(const std::string& key, std::int64_t most) const {
    const std::string written = text(key);
    std::int64_t value = 0;
    if (!YAML::convert<std::int64_t>::decode(node_[key], value))
        refuse(fmt::format("`{}: {}` is no number", key, written));
    if (value < 1 || value > most) refuse(fmt::format("`{}: {}` is outside 1 to {}", key, written, most));
    return value;
}

std::optional<double> Description::positive(const std::string& key) const {
    const YAML::Node value = node_[key];
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

bool is_swapped(const Description& yaml, PixelType type) {
    if (type == PixelType::uint8) return false;
    const std::string order = yaml.text("Byte Order");
    if (order != "<" && order != ">") yaml.refuse(fmt::format("`Byte Order: {}` is neither < nor >", order));
    return (order == "<") != host_is_little_endian;
}

MovieInfo read_description(const Description& yaml) {
    MovieInfo info;
    info.type = pixel_type(yaml);
    info.width = int(yaml.integer("Width", largest_edge_px));
    info.height = int(yaml.integer("Height", largest_edge_px));
    info.frames = yaml.integer("Frames", largest_frames);
    info.pixel_size_nm = yaml.positive("Pixelsize");
    if (!info.pixel_size_nm) info.pixel_size_nm = yaml.positive("Camera.Pixelsize");
    info.offset_adu = yaml.positive("Baseline");
    info.gain_e_per_adu = yaml.positive("Sensitivity");
    info.em_gain = yaml.positive("Gain");
    return info;
}

class RawMovie : public Movie {
  public:
    RawMovie(const std::filesystem::path& path, const std::filesystem::path& yaml_path) : file_(path) {
        const Description yaml(yaml_path);
        info_ = read_description(yaml);
        info_.name = path.filename().string();
        swapped_ = is_swapped(yaml, info_.type);
        fit_to_file();
        info_.files = {path, yaml_path};
        file_.expect_sequential_reads();
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;

  private:
    void fit_to_file();
    std::uint64_t frame_bytes() const { return std::uint64_t(info_.width) * info_.height * bytes_of(info_.type); }

    InputFile file_;
    MovieInfo info_;
    bool swapped_ = false;
};

void RawMovie::fit_to_file() {
    const auto whole = std::int64_t(file_.size() / frame_bytes());
    const std::uint64_t rest = file_.size() % frame_bytes();
    const std::string described = fmt::format("{} frames of {}x{} pixels of {} bytes", info_.frames, info_.width,
                                              info_.height, bytes_of(info_.type));
    if (whole == 0)
        throw InputError(fmt::format("{}: has {} bytes, less than one frame: its .yaml says {}", file_.name(),
                                     file_.size(), described));
    if (whole < info_.frames) {
        info_.warnings.push_back(
            fmt::format("{}: frame {} of {} is truncated (expected {} bytes, found {}); the first {} frames are usable",
                        info_.name, whole + 1, info_.frames, frame_bytes(), rest, whole));
        info_.frames = whole;
    } else if (whole > info_.frames || rest != 0) {
        info_.warnings.push_back(fmt::format("{}: has {} bytes beyond the {} that its .yaml says", info_.name,
                                             file_.size() - std::uint64_t(info_.frames) * frame_bytes(), described));
    }
}

void RawMovie::read_to(std::int64_t first, int count, std::byte* out) {
    check_frames(info_, first, count);
    const std::size_t n_bytes = std::size_t(count) * frame_bytes();
    const std::size_t got = file_.read_at(std::uint64_t(first) * frame_bytes(), out, n_bytes);
    if (got != n_bytes)
        throw UnreadableFrame(file_.name(), first + std::int64_t(got / frame_bytes()),
                              "the file became shorter after it was opened");
    if (swapped_) swap_bytes(out, n_bytes, bytes_of(info_.type));
}

}  // namespace

std::unique_ptr<Movie> open_raw_movie(const std::filesystem::path& path, const std::filesystem::path& yaml) {
    return std::make_unique<RawMovie>(path, yaml);
}

}  // namespace glint
