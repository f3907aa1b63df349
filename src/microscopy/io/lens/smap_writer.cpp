// Writes SMAP's *_3dcal.mat: MATLAB's version 5, uncompressed.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/atomic_file.hpp"
#include "io/lens/lens_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

enum ElementType : std::uint32_t {
    element_int8 = 1,
    element_int32 = 5,
    element_uint32 = 6,
    element_single = 7,
    element_double = 9,
    element_matrix = 14,
    element_uint16 = 4
};
enum MatClass : std::uint32_t { cell_class = 1, struct_class = 2, char_class = 4, double_class = 6, single_class = 7 };

template <class T>
std::string to_little_endian(const T* values, std::size_t count) {
    std::string bytes(count * sizeof(T), '\0');
    std::memcpy(bytes.data(), values, bytes.size());
    if (!host_is_little_endian) swap_bytes(reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), sizeof(T));
    return bytes;
}

/// A tag and its bytes, filled up to eight.
std::string make_element(std::uint32_t type, const std::string& bytes) {
    const std::uint32_t tag[] = {type, std::uint32_t(bytes.size())};
    std::string out;
    out.reserve(bytes.size() + 16);
    out = to_little_endian(tag, 2);
    out += bytes;
    out.resize((out.size() + 7) / 8 * 8, '\0');
    return out;
}

std::string make_matrix(MatClass mat_class, const std::vector<std::int32_t>& dimensions, const std::string& name,
                        const std::string& contents) {
    const std::uint32_t flags[] = {mat_class, 0};
    return make_element(element_matrix,
                        make_element(element_uint32, to_little_endian(flags, 2)) +
                            make_element(element_int32, to_little_endian(dimensions.data(), dimensions.size())) +
                            make_element(element_int8, name) + contents);
}

std::string make_number(double value) {
    return make_matrix(double_class, {1, 1}, "", make_element(element_double, to_little_endian(&value, 1)));
}

std::string make_row(const std::vector<double>& values) {
    return make_matrix(double_class, {1, std::int32_t(values.size())}, "",
                       make_element(element_double, to_little_endian(values.data(), values.size())));
}

std::string make_cell(const std::string& element) { return make_matrix(cell_class, {1, 1}, "", element); }

std::string make_text(const std::string& text) {
    std::vector<std::uint16_t> letters;
    for (const unsigned char letter : text) letters.push_back(letter);
    return make_matrix(char_class, {1, std::int32_t(letters.size())}, "",
                       make_element(element_uint16, to_little_endian(letters.data(), letters.size())));
}

using MatFields = std::vector<std::pair<std::string, std::string>>;  ///< names and elements

std::string make_struct(const std::string& name, const MatFields& fields) {
    constexpr std::int32_t name_bytes = 32;
    std::string names, contents;
    for (const auto& [field, element] : fields) {
        names += field;
        names.resize((names.size() / name_bytes + 1) * name_bytes, '\0');
        contents += element;
    }
    // The length of names is an element within its tag.
    const std::uint32_t length[] = {4u << 16 | element_int32, std::uint32_t(name_bytes)};
    return make_matrix(struct_class, {1, 1}, name,
                       to_little_endian(length, 2) + make_element(element_int8, names) + contents);
}

/// Coefficients (y, x, z, 64), MATLAB's order, with the powers of y fastest.
std::string make_coefficients(const CellPolynomials& polynomials) {
    const auto [depth, height, width] = polynomials.cells;
    std::vector<float> values;
    values.reserve(polynomials.values.size());
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t c = 0; c < 4; ++c)
            for (std::size_t b = 0; b < 4; ++b)
                for (std::size_t k = 0; k < depth; ++k)
                    for (std::size_t i = 0; i < width; ++i)
                        for (std::size_t j = 0; j < height; ++j)
                            values.push_back(polynomials.coefficient({k, j, i}, {a, b, c}));
    return make_matrix(single_class, {std::int32_t(height), std::int32_t(width), std::int32_t(depth), 64}, "",
                       make_element(element_single, to_little_endian(values.data(), values.size())));
}

std::string make_mat5_header() {
    constexpr std::size_t text_bytes = 116;
    std::string header = "MATLAB 5.0 MAT-file, Platform: glint";
    header.resize(text_bytes, ' ');
    header.append(8, '\0');
    header += std::string_view("\0\1IM", 4);
    return header;
}

}  // namespace

void write_smap_lens(const fs::path& path, const Lens& lens, IfExists if_exists) {
    require_pixel_samples(path, lens);
    const PsfTable& table = *lens.table;
    const int height = table.shape()[1] - 2, width = table.shape()[2] - 2;
    if (height % 2 == 0 || width % 2 == 0)
        throw OptionError(
            fmt::format("{}: SMAP's PSFs have an odd number of pixels along each edge, this one has {} x "
                        "{}: measure it with an odd window",
                        path.string(), width, height));
    const CellPolynomials polynomials = to_reversed_polynomials(path, table);
    const PsfTable::Scale& scale = table.scale();
    const double step_nm = (scale.z_max_nm - scale.z_min_nm) / double(polynomials.cells[0]);
    const double um = scale.pixel_size_nm / 1000;
    const std::string cspline = make_struct("", {{"coeff", make_cell(make_coefficients(polynomials))},
                                                 {"dz", make_number(step_nm)},
                                                 {"z0", make_number(scale.z_max_nm / step_nm)},
                                                 {"x0", make_number(0.5 * (height + 1))},
                                                 {"global", make_struct("", {{"isglobal", make_number(0)}})},
                                                 {"mirror", make_number(0)}});
    const std::string sxy = make_struct("SXY", {{"cspline", cspline}, {"EMon", make_number(0)}});
    const std::string parameters = make_struct("parameters", {{"dz", make_number(step_nm)},
                                                              {"pixelsize", make_cell(make_row({um, um}))},
                                                              {"emgain", make_number(0)},
                                                              {"modality", make_text("arbitrary")},
                                                              {"origin", make_text(lens.origin)}});
    AtomicFile output(path, if_exists);
    output.write(make_mat5_header());
    output.write(sxy);
    output.write(parameters);
    output.commit();
}

}  // namespace glint
