// Writes Picasso's pair of files: NAME.hdf5 with one contiguous compound dataset `/locs`, and NAME.yaml.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/writing.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/picasso/row.hpp"
#include "io/row_blocks.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Facts about rows for warnings.
struct RowFacts {
    std::size_t not_finite = 0;  ///< values that Picasso does not accept
    std::size_t hidden = 0;      ///< rows that Picasso leaves out when it loads the file
    std::size_t with_gaps = 0;   ///< rows with NaN or infinity in a column that is only copied
    float x_end = 0, y_end = 0;
    std::uint32_t last_frame = 0;

    void add(const RowFacts& more) {
        not_finite += more.not_finite, hidden += more.hidden, with_gaps += more.with_gaps;
        x_end = std::max(x_end, more.x_end), y_end = std::max(y_end, more.y_end);
        last_frame = std::max(last_frame, more.last_frame);
    }
};

struct PicassoRows {
    std::vector<std::byte> records;
    RowFacts facts;
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
        file_ = hdf5::create_file(hdf5_);
        const hsize_t shape[] = {rows};
        locs_ = hdf5::create_dataset(file_, "locs", row_.type(), shape, path_);
        warn_of_missing_columns();
    }

    void append(const Localizations& piece) override {
        rows_in_order<PicassoRows>(
            piece.size(),
            [&](RowBlock block, PicassoRows& rows) {
                rows.facts = facts_of(piece, block);
                rows.facts.not_finite = row_.pack(piece, block, rows.records);
            },
            [&](RowBlock block, const PicassoRows& rows) {
                hdf5::write_rows(locs_, row_.type(), written_ + block.first, block.count(), rows.records.data(), path_);
                hdf5_.check();
                facts_.add(rows.facts);
            });
        written_ += piece.size();
    }

    void close() override {
        const Steps steps = final_steps();
        yaml_.write(to_yaml(steps));
        hdf5::write_string(file_, "metadata", to_json(steps), path_);
        if (!locs_.close() || !file_.close()) throw_output_error(path_, 0);
        commit_together(yaml_, hdf5_);
        warn_of_rows();
    }

    std::size_t hidden_rows() const override { return facts_.hidden; }

  private:
    /// Returns all facts except `not_finite`.
    RowFacts facts_of(const Localizations& piece, RowBlock block) const {
        RowFacts facts;
        std::vector<const std::vector<double>*> copied;
        for (const std::string& name : row_.real_extras()) copied.push_back(&piece.extra.at(name).values);
        for (std::size_t row = block.first; row < block.end; ++row) {
            facts.hidden += is_hidden(piece, row);
            facts.with_gaps +=
                std::any_of(copied.begin(), copied.end(), [row](auto* of) { return !std::isfinite((*of)[row]); });
            facts.x_end = std::max(facts.x_end, piece.x_px[row]), facts.y_end = std::max(facts.y_end, piece.y_px[row]);
            facts.last_frame = std::max(facts.last_frame, piece.frame[row]);
        }
        return facts;
    }

    /// Picasso treats x and y below 0 (the outer half of the first pixel) and positions beyond the movie as errors.
    bool is_hidden(const Localizations& piece, std::size_t row) const {
        const float x = piece.x_px[row], y = piece.y_px[row];
        const auto negative = [row](const std::vector<float>& v) { return !v.empty() && v[row] < 0; };
        const bool beyond =
            (extent_.width > 0 && x >= float(extent_.width)) || (extent_.height > 0 && y >= float(extent_.height));
        return x < 0 || y < 0 || beyond || negative(piece.lpx_px) || negative(piece.lpy_px) || negative(piece.lpz_nm) ||
               negative(piece.photons) || negative(piece.sx_px) || negative(piece.sy_px);
    }

    Steps final_steps() const {
        Localizations ends = extent_;
        ends.x_px = {facts_.x_end}, ends.y_px = {facts_.y_end};
        if (written_ > 0) ends.frame = {facts_.last_frame};  // a table without rows has no frames either
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
                            "`written_pixel_size=100nm`",
                            path_.string()));
    }

    void warn_of_rows() const {
        if (!warn_) return;
        if (facts_.not_finite > 0) warn_(text_of_zeros(path_, facts_.not_finite));
        if (facts_.with_gaps > 0)
            warn_(
                fmt::format("{}: {} rows hold NaN or infinity in columns that are kept unchanged; Picasso leaves "
                            "such rows out when it opens the file",
                            path_.string(), facts_.with_gaps));
    }

    fs::path path_;
    AtomicFile yaml_, hdf5_;
    Warn warn_;
    Localizations extent_;  ///< only its metadata are used
    PicassoRow row_;
    hdf5::Handle file_, locs_;
    std::size_t written_ = 0;
    RowFacts facts_;
};

}  // namespace

FormatWriter write_picasso(const fs::path& path, const Localizations& like, std::size_t rows, const Target& target) {
    return std::make_unique<PicassoFile>(path, like, rows, target);
}

}  // namespace glint
