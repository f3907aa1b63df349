// SMAP's .mat of version 5 to 7: elements inside elements, behind one zlib stream for each variable.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"
#include "io/localization_formats.hpp"
#include "io/mat_arrays.hpp"
#include "io/packed_bytes.hpp"
#include "io/smap/contents.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr int structure_class = 2;
constexpr std::uint32_t matrix_type = 14;
constexpr std::uint64_t mat5_tag_bytes = 8;

/// The file's own bytes.
class FileBytes : public ByteSource {
  public:
    explicit FileBytes(const fs::path& path) : file_(path) {}
    std::uint64_t size() const override { return file_.size(); }
    std::size_t read_at(std::uint64_t offset, std::byte* out, std::size_t n) const override {
        return file_.read_at(offset, out, n);
    }

  private:
    InputFile file_;
};

/// Where an element's bytes are.
struct MatPlace {
    std::uint32_t type = 0;
    std::uint64_t bytes = 0, first = 0, next = 0;
};

/// A matrix: its header, and where its fields or numbers begin.
struct MatElement {
    int array_class = 0;
    bool is_complex = false;
    std::uint64_t count = 0;  ///< of its values or structures
    bool is_line = false;
    std::vector<std::string> fields;
    std::uint64_t contents = 0;  ///< the first field, or the numbers
};

/// Reads elements inside the variable `saveloc`.
class Elements {
  public:
    Elements(const fs::path& path, std::shared_ptr<const ByteSource> bytes, bool big_endian)
        : path_(path), bytes_(std::move(bytes)), big_endian_(big_endian) {}

    MatPlace place(std::uint64_t at) const {
        const std::string tag = text(at, mat5_tag_bytes);
        const auto word = number_at<std::uint32_t>(tag, 0, big_endian_);
        MatPlace place{word, 0, at + mat5_tag_bytes, 0};
        if (word >> 16) {  // up to four bytes in the tag itself
            place = {word & 0xffff, word >> 16, at + 4, at + mat5_tag_bytes};
        } else {
            place.bytes = number_at<std::uint32_t>(tag, 4, big_endian_);
            place.next = place.first + (place.bytes + 7) / 8 * 8;
        }
        if (place.first + place.bytes > bytes_->size())
            throw InputError(
                fmt::format("{}: the variable saveloc ends inside an element of {} bytes, at byte {} of {}: the file "
                            "is damaged or truncated; copy or save it again",
                            path_.string(), place.bytes, place.first, bytes_->size()));
        return place;
    }

    std::optional<MatElement> matrix(std::uint64_t at) const {
        const MatPlace all = place(at);
        if (all.type != matrix_type || all.bytes == 0) return std::nullopt;
        const MatPlace flags = place(all.first), dimensions = place(flags.next), name = place(dimensions.next);
        constexpr std::uint64_t max_dimensions_bytes = 256;
        if (flags.bytes < 4 || dimensions.bytes > max_dimensions_bytes) return std::nullopt;
        MatElement matrix;
        const auto word = number_at<std::uint32_t>(text(flags.first, 4), 0, big_endian_);
        matrix.array_class = int(word & 0xff), matrix.is_complex = word & 0x800;
        matrix.count = 1;
        const std::string sizes = text(dimensions.first, dimensions.bytes);
        int long_dimensions = 0;
        for (std::size_t k = 0; k + 4 <= sizes.size(); k += 4) {
            const std::uint64_t size = number_at<std::uint32_t>(sizes, k, big_endian_);
            if (size != 0 && matrix.count > 0xffffffff / size) return std::nullopt;
            matrix.count *= size, long_dimensions += size != 1;
        }
        matrix.is_line = long_dimensions <= 1 || matrix.count == 0;
        matrix.contents = name.next;
        if (matrix.array_class == structure_class) read_fields(matrix);
        return matrix;
    }

    /// The field of the `of`-th structure of an array; nothing if there is none.
    std::optional<std::uint64_t> field(const MatElement& matrix, const std::string& name, std::uint64_t of = 0) const {
        const auto found = std::find(matrix.fields.begin(), matrix.fields.end(), name);
        if (found == matrix.fields.end() || of >= matrix.count) return std::nullopt;
        std::uint64_t at = matrix.contents;
        const std::uint64_t before = of * matrix.fields.size() + std::uint64_t(found - matrix.fields.begin());
        for (std::uint64_t k = 0; k < before; ++k) at = place(at).next;
        return at;
    }

    std::optional<MatElement> structure(const MatElement& matrix, const std::string& name, std::uint64_t of = 0) const {
        const auto at = field(matrix, name, of);
        auto inner = at ? this->matrix(*at) : std::nullopt;
        return inner && inner->array_class == structure_class ? inner : std::nullopt;
    }

    /// Real numbers of a row or column; nothing for all else.
    std::optional<SmapArray> line(const std::string& name, std::uint64_t at) const {
        const auto found = matrix(at);
        if (!found || found->array_class < 6 || found->array_class > 15 || found->is_complex || !found->is_line)
            return std::nullopt;
        SmapArray array{name, found->count, found->array_class >= 8, {}};
        if (found->count == 0) return array;
        const MatPlace numbers = place(found->contents);
        const int size = size_of(numbers.type);
        if (size == 0) return std::nullopt;
        if (numbers.bytes != found->count * std::uint64_t(size))
            throw InputError(
                fmt::format("{}: {} says that it has {} numbers, and holds {} bytes of them, not {}: the "
                            "file is damaged; copy or save it again",
                            path_.string(), name, found->count, numbers.bytes, found->count * size));
        array.read = [self = *this, numbers, size](std::uint64_t first, std::span<double> values) {
            const std::string bytes = self.text(numbers.first + first * size, values.size() * size);
            for (std::size_t k = 0; k < values.size(); ++k)
                values[k] = self.number(bytes, k * std::size_t(size), numbers.type);
        };
        return array;
    }

  private:
    void read_fields(MatElement& matrix) const {
        const MatPlace length_at = place(matrix.contents), names = place(length_at.next);
        const auto length = number_at<std::uint32_t>(text(length_at.first, 4), 0, big_endian_);
        if (length == 0 || length_at.bytes < 4) return;
        const std::uint64_t count = names.bytes / length;
        if (count > smap_max_fields)
            throw InputError(
                fmt::format("{}: a structure has {} fields, more than the limit of {}: remove some in "
                            "MATLAB",
                            path_.string(), count, smap_max_fields));
        const std::string all = text(names.first, count * length);
        for (std::size_t k = 0; k < count; ++k) {
            const std::string name = all.substr(k * length, length);
            matrix.fields.push_back(name.substr(0, name.find('\0')));
        }
        matrix.contents = names.next;
    }

    std::string text(std::uint64_t at, std::uint64_t bytes) const {
        std::string out;
        const bool is_inside = at <= bytes_->size() && bytes <= bytes_->size() - at;
        if (is_inside) out.resize(std::size_t(bytes));
        if (!is_inside || bytes_->read_at(at, reinterpret_cast<std::byte*>(out.data()), out.size()) != out.size())
            throw InputError(
                fmt::format("{}: the variable saveloc breaks off at byte {}: the file is damaged or "
                            "truncated; copy or save it again",
                            path_.string(), bytes_->size()));
        return out;
    }

    static int size_of(std::uint32_t type) {
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

    double number(std::string_view bytes, std::size_t at, std::uint32_t type) const {
        const auto as = [&](auto typed) { return double(number_at<decltype(typed)>(bytes, at, big_endian_)); };
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

    fs::path path_;
    std::shared_ptr<const ByteSource> bytes_;
    bool big_endian_;
};

std::optional<MatArray> saveloc_of(const MatFile& mat) {
    for (const MatArray& array : mat.arrays)
        if (array.name == "saveloc" && array.array_class == structure_class) return array;
    return std::nullopt;
}

std::vector<SmapMovie> movies_of(const Elements& elements, const MatElement& saveloc) {
    std::vector<SmapMovie> movies;
    const auto file = elements.structure(saveloc, "file");
    for (std::uint64_t k = 0; file && k < std::min<std::uint64_t>(file->count, smap_max_files); ++k) {
        const auto info = elements.structure(*file, "info", k);
        if (!info) continue;
        movies.push_back(smap_movie([&](const char* field, std::size_t number) {
            const auto at = elements.field(*info, field);
            const auto line = at ? elements.line(field, *at) : std::nullopt;
            double value = 0;
            if (line && number < line->count) line->read(number, {&value, 1});
            return value;
        }));
    }
    return movies;
}

}  // namespace

bool is_smap_mat5(const fs::path& path) {
    const InputFile file(path);
    return mat_version(file) == MatVersion::elements && saveloc_of(read_mat(file));
}

SmapContents smap_contents_of_elements(const fs::path& path) {
    const InputFile file(path);
    const MatFile mat = read_mat(file);
    const auto array = saveloc_of(mat);
    if (!array) throw InputError(fmt::format("{}: has no structure saveloc", path.string()));
    std::shared_ptr<const ByteSource> bytes;
    constexpr std::uint64_t longest_variable = 0xffffffff + mat5_tag_bytes;
    if (array->packed_bytes)
        bytes = std::make_shared<PackedBytes>(path, array->packed_at, array->packed_bytes, longest_variable);
    else
        bytes = std::make_shared<FileBytes>(path);
    const Elements elements(path, bytes, mat.big_endian);
    const auto saveloc = elements.matrix(array->begin);
    const auto loc = saveloc ? elements.structure(*saveloc, "loc") : std::nullopt;
    if (!loc || loc->count != 1)
        throw InputError(fmt::format("{}: has no structure saveloc.loc, so it is no table of SMAP", path.string()));
    SmapContents contents;
    std::uint64_t at = loc->contents;
    for (const std::string& name : loc->fields) {
        if (auto line = elements.line(name, at))
            contents.columns.push_back(std::move(*line));
        else
            contents.skipped.push_back(name);
        at = elements.place(at).next;
    }
    contents.movies = movies_of(elements, *saveloc);
    return contents;
}

}  // namespace glint
