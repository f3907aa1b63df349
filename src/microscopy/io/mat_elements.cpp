// Each element is a tag of type and length, then its bytes: numbers, or further elements.
// SPDX-License-Identifier: MIT
#include "io/mat_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t matrix_type = 14;
constexpr std::uint64_t element_tag_bytes = 8, max_variable_bytes = 0xffffffff + element_tag_bytes;
constexpr std::size_t max_mat_fields = 1000, max_mat_cells = 100000;

/// The file's own bytes.
class WholeFile : public ByteSource {
  public:
    explicit WholeFile(const fs::path& path) : file_(path) {}
    std::uint64_t size() const override { return file_.size(); }
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const override {
        return file_.read_at(offset, out, n);
    }

  private:
    InputFile file_;
};

int bytes_of_number(std::uint32_t type) {
    switch (type) {
        case 1:
        case 2: return 1;
        case 3:
        case 4: return 2;
        case 5:
        case 6:
        case 7: return 4;
        case 9:
        case 12:
        case 13: return 8;
        default: return 0;
    }
}

double mat_number(std::string_view bytes, std::size_t at, std::uint32_t type, bool big_endian) {
    const auto as = [&](auto typed) { return double(number_at<decltype(typed)>(bytes, at, big_endian)); };
    switch (type) {
        case 1: return as(std::int8_t());
        case 2: return as(std::uint8_t());
        case 3: return as(std::int16_t());
        case 4: return as(std::uint16_t());
        case 5: return as(std::int32_t());
        case 6: return as(std::uint32_t());
        case 7: return as(float());
        case 12: return as(std::int64_t());
        case 13: return as(std::uint64_t());
        default: return as(double());
    }
}

}  // namespace

bool MatElement::is_line() const {
    return count == 0 ||
           std::count_if(dimensions.begin(), dimensions.end(), [](std::uint64_t n) { return n != 1; }) <= 1;
}

MatElements::MatElements(const fs::path& path, const MatArray& array, bool big_endian)
    : path_(path), variable_(array.name), big_endian_(big_endian), begin_(array.begin) {
    if (array.packed_bytes)
        bytes_ = std::make_shared<PackedBytes>(path, array.packed_at, array.packed_bytes, max_variable_bytes);
    else
        bytes_ = std::make_shared<WholeFile>(path);
}

MatElements::Place MatElements::place(std::uint64_t at) const {
    const std::string tag = text(at, element_tag_bytes);
    const auto word = number_at<std::uint32_t>(tag, 0, big_endian_);
    Place place{word, 0, at + element_tag_bytes, 0};
    if (word >> 16) {  // up to four bytes in the tag itself
        place = {word & 0xffff, word >> 16, at + 4, at + element_tag_bytes};
    } else {
        place.bytes = number_at<std::uint32_t>(tag, 4, big_endian_);
        place.next = place.first + (place.bytes + 7) / 8 * 8;
    }
    if (place.first + place.bytes > bytes_->size())
        throw InputError(
            fmt::format("{}: the variable {} ends inside an element of {} bytes, at byte {} of {}: the file is "
                        "damaged or truncated; copy or save it again",
                        path_.string(), variable_, place.bytes, place.first, bytes_->size()));
    return place;
}

std::optional<MatElement> MatElements::matrix(std::uint64_t at) const {
    const Place all = place(at);
    if (all.type != matrix_type || all.bytes == 0) return std::nullopt;
    const Place flags = place(all.first), dimensions = place(flags.next), name = place(dimensions.next);
    constexpr std::uint64_t max_dimensions_bytes = 256;
    if (flags.bytes < 4 || dimensions.bytes > max_dimensions_bytes) return std::nullopt;
    MatElement matrix;
    const auto word = number_at<std::uint32_t>(text(flags.first, 4), 0, big_endian_);
    matrix.array_class = int(word & 0xff), matrix.is_complex = word & 0x800;
    matrix.count = 1;
    const std::string sizes = text(dimensions.first, dimensions.bytes);
    for (std::size_t k = 0; k + 4 <= sizes.size(); k += 4) {
        const std::uint64_t size = number_at<std::uint32_t>(sizes, k, big_endian_);
        if (size != 0 && matrix.count > 0xffffffff / size) return std::nullopt;
        matrix.count *= size;
        matrix.dimensions.push_back(size);
    }
    matrix.contents = name.next;
    if (matrix.is_structure()) read_fields(matrix);
    return matrix;
}

std::optional<std::uint64_t> MatElements::field(const MatElement& matrix, const std::string& name,
                                                std::uint64_t of) const {
    const auto found = std::find(matrix.fields.begin(), matrix.fields.end(), name);
    if (found == matrix.fields.end() || of >= matrix.count) return std::nullopt;
    std::uint64_t at = matrix.contents;
    const std::uint64_t before = of * matrix.fields.size() + std::uint64_t(found - matrix.fields.begin());
    for (std::uint64_t k = 0; k < before; ++k) at = next(at);
    return at;
}

std::optional<MatElement> MatElements::structure(const MatElement& matrix, const std::string& name,
                                                 std::uint64_t of) const {
    const auto at = field(matrix, name, of);
    auto inner = at ? this->matrix(*at) : std::nullopt;
    return inner && inner->is_structure() ? inner : std::nullopt;
}

std::vector<std::uint64_t> MatElements::cells(const MatElement& cells) const {
    if (cells.count > max_mat_cells)
        throw InputError(
            fmt::format("{}: a cell array of the variable {} has {} cells, more than the limit of {}: "
                        "the file is damaged; copy or save it again",
                        path_.string(), variable_, cells.count, max_mat_cells));
    std::vector<std::uint64_t> places;
    std::uint64_t at = cells.contents;
    for (std::uint64_t k = 0; k < cells.count; ++k) places.push_back(at), at = next(at);
    return places;
}

std::optional<MatNumbers> MatElements::numbers(const std::string& name, std::uint64_t at) const {
    const auto found = matrix(at);
    if (!found || found->array_class < 6 || found->array_class > 15 || found->is_complex) return std::nullopt;
    MatNumbers array{found->dimensions, found->count, found->array_class >= 8, {}};
    if (found->count == 0) return array;
    const Place numbers = place(found->contents);
    const int size = bytes_of_number(numbers.type);
    if (size == 0) return std::nullopt;
    if (numbers.bytes != found->count * std::uint64_t(size))
        throw InputError(
            fmt::format("{}: {} says that it has {} numbers, and holds {} bytes of them, not {}: the file is damaged; "
                        "copy or save it again",
                        path_.string(), name, found->count, numbers.bytes, found->count * size));
    array.read = [self = *this, numbers, size](std::uint64_t first, std::span<double> values) {
        const std::string bytes = self.text(numbers.first + first * size, values.size() * size);
        for (std::size_t k = 0; k < values.size(); ++k)
            values[k] = mat_number(bytes, k * std::size_t(size), numbers.type, self.big_endian_);
    };
    return array;
}

void MatElements::read_fields(MatElement& matrix) const {
    const Place length_at = place(matrix.contents), names = place(length_at.next);
    const auto length = number_at<std::uint32_t>(text(length_at.first, 4), 0, big_endian_);
    if (length == 0 || length_at.bytes < 4) return;
    const std::uint64_t count = names.bytes / length;
    if (count > max_mat_fields)
        throw InputError(fmt::format("{}: a structure has {} fields, more than the limit of {}: remove some in MATLAB",
                                     path_.string(), count, max_mat_fields));
    const std::string all = text(names.first, count * length);
    for (std::size_t k = 0; k < count; ++k) {
        const std::string name = all.substr(k * length, length);
        matrix.fields.push_back(name.substr(0, name.find('\0')));
    }
    matrix.contents = names.next;
}

std::string MatElements::text(std::uint64_t at, std::uint64_t bytes) const {
    std::string out;
    const bool is_inside = at <= bytes_->size() && bytes <= bytes_->size() - at;
    if (is_inside) out.resize(std::size_t(bytes));
    if (!is_inside || bytes_->read_at(at, reinterpret_cast<std::byte*>(out.data()), out.size()) != out.size())
        throw InputError(
            fmt::format("{}: the variable {} breaks off at byte {}: the file is damaged or truncated; "
                        "copy or save it again",
                        path_.string(), variable_, bytes_->size()));
    return out;
}

}  // namespace glint
