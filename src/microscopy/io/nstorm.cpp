// Reads the molecule lists that Nikon NIS-Elements (N-STORM) exports as text.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "io/csv/layout.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Names of the same position with different corrections, the most corrected first: X as measured, c for drift, w for
/// chromatic warp.
struct Corrections {
    const char *x, *y, *z;
};
constexpr Corrections corrections[] = {{"Xwc", "Ywc", "Zwc"}, {"Xc", "Yc", "Zc"}, {"Xw", "Yw", "Zw"}, {"X", "Y", "Z"}};

bool has_header(const TextLayout& layout, const std::string& header) {
    return std::find(layout.headers.begin(), layout.headers.end(), header) != layout.headers.end();
}

void choose_positions(TextLayout& layout) {
    for (const auto& [x, y, z] : corrections) {
        if (has_header(layout, x) && has_header(layout, y) && !layout.columns.contains("x [nm]"))
            layout.columns["x [nm]"] = x, layout.columns["y [nm]"] = y;
        if (has_header(layout, z)) layout.columns.emplace("z [nm]", z);
        layout.left_out.insert(layout.left_out.end(), {x, y, z});
    }
}

bool is_nstorm(const fs::path& path) {
    const InputFile file(path);
    return begins_with(file, "Channel Name\tX\tY\t") || begins_with(file, "Name\tX\tY\tXc\t");
}

OpenTable open_nstorm(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    TextLayout layout;
    layout.separator = '\t';
    layout.headers = cells_of(first_line(path), '\t');
    layout.labels = layout.headers.front();
    layout.idle = {"channel", "len", "link", "valid", "phi"};
    choose_positions(layout);
    const std::pair<const char*, const char*> names[] = {
        {"frame", "Frame"},
        {"len", "Length"},
        {"photons [photon]", "Photons"},
        {"uncertainty [nm]", "Lateral Localization Accuracy"},
        {"height", "Height"},
        {"area", "Area"},
        {"width_nm", "Width"},
        {"phi", "Phi"},
        {"aspect_ratio", "Ax"},
        {"background_counts", "BG"},
        {"intensity_counts", "I"},
        {"link", "Link"},
        {"valid", "Valid"},
    };
    for (const auto& [name, header] : names)
        if (has_header(layout, header)) layout.columns[name] = header;
    layout.columns["channel"] = layout.labels;
    leave_out_empty_depths(path, layout, "z [nm]");
    warn_of_origin(path, "NIS-Elements", warn);
    return open_text(path, pixel_size_nm, warn, text, std::move(layout));
}

}  // namespace

TableFormat nstorm_tables() {
    return {.name = "Nikon N-STORM",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_nstorm(content.path); },
            .open = open_nstorm};
}

}  // namespace glint
