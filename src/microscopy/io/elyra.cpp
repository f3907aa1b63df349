// Reads the tables of Zeiss ZEN (ELYRA): tabs between columns, and the pixel size below the rows.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/csv/layout.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Returns the last 64 KiB: the text after the rows is shorter.
std::string end_of(const fs::path& path) {
    constexpr std::uint64_t longest = 64 << 10;
    const InputFile file(path);
    const std::uint64_t begin = file.size() - std::min(file.size(), longest);
    std::string text(std::size_t(file.size() - begin), '\0');
    text.resize(file.read_at(begin, reinterpret_cast<std::byte*>(text.data()), text.size()));
    return text;
}

/// Returns the number after a key, such as 3200 of "SizeX : 3200"; 0 if there is none.
double number_after(const std::string& text, std::string_view key) {
    std::size_t at = text.rfind(key);
    if (at == text.npos) return 0;
    at = text.find_first_not_of(" \t:", at + key.size());
    double value = 0;
    if (at != text.npos) std::from_chars(text.data() + at, text.data() + text.size(), value);
    return std::isfinite(value) ? value : 0;
}

/// Returns the movie's pixels along an axis: the reconstructed picture's size times its resolution factor.
int pixels_in(const std::string& text, const std::string& axis) {
    const double pixels = number_after(text, "Size" + axis) * number_after(text, "Resolution" + axis);
    // "VoxelSizeX" also ends in "SizeX", but comes earlier.
    return pixels >= 1 && pixels <= 1e6 ? int(std::lround(pixels)) : 0;
}

bool is_elyra(const fs::path& path) { return begins_with(InputFile(path), "Index\tFirst Frame\t"); }

OpenTable open_elyra(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    TextLayout layout;
    layout.separator = '\t';
    layout.headers = cells_of(first_line(path), '\t');
    layout.ends_at_blank = true;
    layout.left_out = {"Index"};
    layout.tell_apart = {"z_slice"};
    layout.idle = {"len", "frames_missing", "channel", "z_slice"};
    const std::pair<const char*, const char*> names[] = {
        {"frame", "First Frame"},
        {"len", "Number Frames"},
        {"frames_missing", "Frames Missing"},
        {"x [nm]", "Position X [nm]"},
        {"y [nm]", "Position Y [nm]"},
        {"z [nm]", "Position Z [nm]"},
        {"uncertainty [nm]", "Precision [nm]"},
        {"uncertainty_z [nm]", "Precision Z [nm]"},
        {"photons [photon]", "Number Photons"},
        {"background_variance", "Background variance"},
        {"chi_square", "Chi square"},
        {"psf_half_width_nm", "PSF half width [nm]"},
        {"psf_width_nm", "PSF width [nm]"},
        {"channel", "Channel"},
        {"z_slice", "Z Slice"},
    };
    for (const auto& [name, header] : names)
        if (std::find(layout.headers.begin(), layout.headers.end(), header) != layout.headers.end())
            layout.columns[name] = header;
    leave_out_empty_depths(path, layout, "z [nm]");
    const std::string end = end_of(path);
    constexpr double smallest_um = 1e-3, largest_um = 100;
    const double um = number_after(end, "VoxelSizeX");
    if (um > smallest_um && um < largest_um) layout.about.pixel_size_nm = um * 1000;
    layout.about.width = pixels_in(end, "X"), layout.about.height = pixels_in(end, "Y");
    warn_of_origin(path, "ZEN", warn);
    return open_text(path, pixel_size_nm, warn, text, std::move(layout));
}

}  // namespace

TableFormat elyra_tables() {
    return {.name = "Zeiss ELYRA",
            .endings = {".txt"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_elyra(content.path); },
            .open = open_elyra};
}

}  // namespace glint
