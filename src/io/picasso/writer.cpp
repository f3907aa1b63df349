// Writes Picasso's pair of files: NAME.hdf5 with one contiguous compound dataset `/locs`, and NAME.yaml.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "io/files/file_pair.hpp"
#include "io/hdf5/writing.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/picasso/row.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t block_rows = 16384;

/// Counts rows that Picasso leaves out when it loads the file (it takes x and y below 0, the outer half of the first
/// pixel, and positions beyond the movie for errors), and values that it cannot take.
struct Audit {
    std::size_t hidden = 0, not_finite = 0, with_gaps = 0;
    MovieFacts facts;
    std::vector<std::string> real_extras;  ///< may hold NaN

    void add(const Localizations& piece) {
        for (std::size_t row = 0; row < piece.size(); ++row) {
            const float x = piece.x_px[row], y = piece.y_px[row];
            const auto negative = [row](const std::vector<float>& v) { return !v.empty() && v[row] < 0; };
            const bool beyond =
                (facts.width > 0 && x >= float(facts.width)) || (facts.height > 0 && y >= float(facts.height));
            hidden += x < 0 || y < 0 || beyond || negative(piece.lpx_px) || negative(piece.lpy_px) ||
                      negative(piece.lpz_nm) || negative(piece.photons) || negative(piece.sx_px) ||
                      negative(piece.sy_px);
        }
        count_gaps(piece);
    }

  private:
    void count_gaps(const Localizations& piece) {
        std::vector<const std::vector<double>*> columns;
        for (const std::string& name : real_extras)
            if (const auto& values = piece.extra.at(name).values; !all_finite(values)) columns.push_back(&values);
        for (std::size_t row = 0; row < piece.size() && !columns.empty(); ++row)
            with_gaps +=
                std::any_of(columns.begin(), columns.end(), [row](auto* of) { return !std::isfinite((*of)[row]); });
    }
};

fs::path repaired_yaml_of(const fs::path& path) {
    const fs::path yaml = fs::path(path).replace_extension(".yaml");
    repair_pair(yaml, path);
    return yaml;
}

class PicassoFile : public LocalizationWriter::Format {
  public:
    PicassoFile(const fs::path& given_path, const Localizations& like, std::size_t rows, const Target& target)
        : path_(without_link(given_path)),
          yaml_(repaired_yaml_of(path_), target.if_exists),
          hdf5_(path_, target.if_exists),
          warn_(target.warn),
          row_(like, target.sees_all) {
        extent_.width = like.width, extent_.height = like.height, extent_.frames = like.frames;
        extent_.pixel_size_nm = like.pixel_size_nm, extent_.history = like.history;
        audit_.facts = {like.width, like.height, like.frames, like.pixel_size_nm};
        audit_.real_extras = row_.real_extras();
        file_ = hdf5::create_file(hdf5_);
        const hsize_t shape[] = {rows};
        locs_ = hdf5::create_dataset(file_, "locs", row_.type(), shape, path_);
        warn_of_missing_columns();
    }

    void append(const Localizations& piece) override {
        for (std::size_t first = 0; first < piece.size(); first += block_rows) {
            const std::size_t count = std::min(block_rows, piece.size() - first);
            audit_.not_finite += row_.pack(piece, first, count, block_);
            hdf5::write_rows(locs_, row_.type(), written_, count, block_.data(), path_);
            written_ += count;
            hdf5_.check();
        }
        audit_.add(piece);
        grow_extent(piece);
    }

    void close() override {
        const Steps steps = final_steps();
        yaml_.write(to_yaml(steps));
        hdf5::write_string(file_, "metadata", to_json(steps), path_);
        if (!locs_.close() || !file_.close()) throw_output_error(path_, 0);
        commit_together(yaml_, hdf5_);
        warn_of_rows();
    }

    std::size_t hidden_rows() const override { return audit_.hidden; }

  private:
    /// Remembers the outermost rows, for a movie whose size is unknown.
    void grow_extent(const Localizations& piece) {
        for (std::size_t row = 0; row < piece.size(); ++row) {
            x_end_ = std::max(x_end_, piece.x_px[row]);
            y_end_ = std::max(y_end_, piece.y_px[row]);
            last_frame_ = std::max(last_frame_, std::int64_t(piece.frame[row]));
        }
    }

    Steps final_steps() const {
        Localizations ends = extent_;
        ends.x_px = {x_end_}, ends.y_px = {y_end_};
        if (written_ > 0) ends.frame = {std::uint32_t(last_frame_)};  // without rows it has no frames either
        fill_unknown_extent(ends);
        return with_facts(extent_.history, {ends.width, ends.height, ends.frames, ends.pixel_size_nm});
    }

    void warn_of_missing_columns() const {
        if (!warn_) return;
        for (const char* name : {"lpx", "lpy"})
            if (!row_.has(name))
                warn_(fmt::format("{} has no column {}, which Picasso asks for", path_.string(), name));
        if (extent_.pixel_size_nm <= 0)
            warn_(
                fmt::format("{} has no pixel size, which Picasso needs to draw and export: give it, as in "
                            "--pixel-size 100nm",
                            path_.string()));
    }

    void warn_of_rows() const {
        if (!warn_) return;
        if (audit_.not_finite > 0) warn_(text_of_zeros(path_, audit_.not_finite));
        if (audit_.with_gaps > 0)
            warn_(
                fmt::format("{}: {} rows hold NaN or infinity in columns that are kept as they are; Picasso leaves "
                            "such rows out when it opens the file",
                            path_.string(), audit_.with_gaps));
    }

    fs::path path_;
    AtomicFile yaml_, hdf5_;
    Warn warn_;
    Localizations extent_;  ///< metadata only
    PicassoRow row_;
    hdf5::Handle file_, locs_;
    std::vector<std::byte> block_;
    std::size_t written_ = 0;
    Audit audit_;
    float x_end_ = 0, y_end_ = 0;
    std::int64_t last_frame_ = 0;
};

}  // namespace

FormatWriter write_picasso(const fs::path& path, const Localizations& like, std::size_t rows, const Target& target) {
    return std::make_unique<PicassoFile>(path, like, rows, target);
}

}  // namespace glint
