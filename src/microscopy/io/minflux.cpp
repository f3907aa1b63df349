// Reads the localizations that Abberior's MINFLUX microscopes export as structured NumPy arrays (.npy), in both
// layouts.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/localization_formats.hpp"
#include "io/plain_movie.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view npy_magic = "\x93NUMPY"sv;
constexpr std::uint64_t longest_npy_header = 1 << 16, largest_record = 1 << 16;

/// Numbers of one kind in a record.
struct RecordField {
    std::string name;
    char kind = 'V';          ///< as in NumPy: b, i, u, f; V: bytes without meaning
    std::uint64_t bytes = 0;  ///< of a number
    bool is_big_endian = false;
    std::uint64_t count = 1;           ///< adjacent numbers
    std::uint64_t at = 0, stride = 0;  ///< in the record; from one iteration to the next
    std::uint64_t repeats = 1;         ///< iterations
};

/// Parses a header of the kind {'descr': [('itr', [('loc', '<f8', (3,))], (5,)), ('tid', '<i4')], 'shape': (7,)}.
class RecordHeader {
  public:
    RecordHeader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) { parse(); }

    std::vector<RecordField> fields;  ///< names of fields in a nested record `itr` begin with its name: "itr.loc"
    std::uint64_t record_bytes = 0, rows = 0;

    const RecordField* find(std::string_view name) const {
        const auto found =
            std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.name == name; });
        return found == fields.end() ? nullptr : &*found;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(
            fmt::format("{}: its .npy header {}: it is no array of records as MINFLUX programs export them, or it is "
                        "damaged; export "
                        "or copy it again",
                        file_, why));
    }
    void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
    bool take(std::string_view token) {
        skip_spaces();
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) refuse(fmt::format("has no `{}` where one is due", token));
    }
    std::string quoted() {
        skip_spaces();
        const char quote = text_.empty() ? '\0' : text_.front();
        if (quote != '\'' && quote != '"') refuse("does not list named fields");
        const auto end = text_.find(quote, 1);
        if (end == text_.npos) refuse("breaks off");
        std::string value(text_.substr(1, end - 1));
        text_.remove_prefix(end + 1);
        return value;
    }
    std::uint64_t number() {
        skip_spaces();
        std::uint64_t value = 0;
        const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
        if (error != std::errc()) refuse("has no readable shape");
        text_.remove_prefix(std::size_t(rest - text_.data()));
        return value;
    }
    /// Returns the product of (3,) or 3. `dimensions` receives the number of factors.
    std::uint64_t shape(int& dimensions) {
        constexpr std::uint64_t most = std::uint64_t(1) << 40;
        std::uint64_t product = 1;
        dimensions = 0;
        if (!take("(")) return ++dimensions, number();
        while (!take(")")) {
            const std::uint64_t one = number();
            if (one > most || product > most / std::max<std::uint64_t>(one, 1)) refuse("claims too large a shape");
            product *= one, ++dimensions;
            if (!take(",")) {
                expect(")");
                break;
            }
        }
        return product;
    }

    std::uint64_t plain_type(const std::string& type, RecordField& field) const {
        const std::size_t digits = type.find_first_of("0123456789");
        if (type.find('O') != type.npos)
            throw InputError(
                fmt::format("{}: holds Python objects, which would have to be run to be read: glint does not do that. "
                            "Save an array of "
                            "numbers by numpy.save(file, array, allow_pickle=False)",
                            file_));
        if (digits == type.npos || digits == 0 || digits > 2) refuse(fmt::format("has the type `{}`", type));
        field.kind = type[digits - 1];
        field.is_big_endian = type[0] == '>';
        std::uint64_t bytes = 0;
        std::from_chars(type.data() + digits, type.data() + type.size(), bytes);
        if (field.kind == 'U') bytes *= 4;
        if (bytes > largest_record) refuse("claims too large a record");
        return bytes;
    }

    /// Returns the bytes of all fields in the list that begins here. `before`: the name of the enclosing record.
    std::uint64_t list(const std::string& before, std::uint64_t begin) {
        std::uint64_t at = begin;
        expect("[");
        while (!take("]")) {
            expect("(");
            RecordField field;
            field.name = before + quoted();
            expect(",");
            skip_spaces();
            const std::size_t first = fields.size();
            const bool is_nested = text_.starts_with("[");
            if (is_nested && !before.empty()) refuse("has records within records of a record");
            field.at = at;
            field.bytes = is_nested ? list(field.name + ".", at) - at : plain_type(quoted(), field);
            int dimensions = 0;
            if (take(",")) field.count = shape(dimensions);
            if (field.count == 0) refuse("has a field without numbers");
            expect(")");
            if (field.count > largest_record || field.bytes * field.count > largest_record - at)
                refuse("claims too large a record");
            at += field.bytes * field.count;
            for (std::size_t k = first; k < fields.size(); ++k)
                fields[k].stride = field.bytes, fields[k].repeats = field.count;
            if (!is_nested) fields.push_back(field);
            if (!take(",")) {
                expect("]");
                break;
            }
        }
        return at;
    }

    void parse() {
        expect("{");
        bool has_shape = false;
        while (!take("}")) {
            const std::string key = quoted();
            expect(":");
            int dimensions = 0;
            if (key == "descr") {
                skip_spaces();
                if (!text_.starts_with("[")) {
                    RecordField plain;
                    plain_type(quoted(), plain);
                    refuse("does not list named fields");
                }
                if (record_bytes != 0) refuse("lists its fields twice");
                record_bytes = list("", 0);
            } else if (key == "fortran_order") {
                if (!take("True")) expect("False");
            } else if (key == "shape") {
                rows = shape(dimensions), has_shape = true;
                if (dimensions != 1) refuse("has not one dimension");
            } else {
                refuse("has an unknown key");
            }
            if (!take(",")) {
                expect("}");
                break;
            }
        }
        if (record_bytes == 0 || !has_shape) refuse("does not say what the records are");
    }

    std::string_view text_;
    std::string file_;
};

template <class T>
double record_number(const std::byte* at, bool is_swapped) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, at, sizeof(T));
    if (is_swapped) std::reverse(raw, raw + sizeof(T));
    T value;
    std::memcpy(&value, raw, sizeof(T));
    if constexpr (std::is_same_v<T, Half>)
        return double(float(value));
    else
        return double(value);
}

/// Returns a number of a record; NaN for invalid bytes.
double value_in(const std::byte* record, const RecordField& field, std::uint64_t iteration, std::uint64_t which) {
    const std::byte* at = record + field.at + iteration * field.stride + which * field.bytes;
    const bool is_swapped = field.is_big_endian == host_is_little_endian;
    switch (field.kind) {
        case 'b': return std::to_integer<int>(*at) != 0;
        case 'f':
            if (field.bytes == 2) return record_number<Half>(at, is_swapped);
            if (field.bytes == 4) return record_number<float>(at, is_swapped);
            if (field.bytes == 8) return record_number<double>(at, is_swapped);
            break;
        case 'i':
            if (field.bytes == 1) return record_number<std::int8_t>(at, is_swapped);
            if (field.bytes == 2) return record_number<std::int16_t>(at, is_swapped);
            if (field.bytes == 4) return record_number<std::int32_t>(at, is_swapped);
            if (field.bytes == 8) return record_number<std::int64_t>(at, is_swapped);
            break;
        case 'u':
            if (field.bytes == 1) return record_number<std::uint8_t>(at, is_swapped);
            if (field.bytes == 2) return record_number<std::uint16_t>(at, is_swapped);
            if (field.bytes == 4) return record_number<std::uint32_t>(at, is_swapped);
            if (field.bytes == 8) return record_number<std::uint64_t>(at, is_swapped);
            break;
        default: break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

bool holds_numbers(const RecordField& field) {
    const std::uint64_t bytes = field.bytes;
    if (field.kind == 'b') return bytes == 1;
    if (field.kind == 'f') return bytes == 2 || bytes == 4 || bytes == 8;
    return (field.kind == 'i' || field.kind == 'u') && std::has_single_bit(bytes) && bytes <= 8;
}

class MinfluxTable : public TableFile {
  public:
    MinfluxTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of)
        : TableFile(from, warn_of), file_(from), header_(header_text(), from.string()) {
        const bool is_nested = header_.find("itr.loc") != nullptr;
        const std::string in = is_nested ? "itr." : "";
        loc_ = &needed(in + "loc"), tid_ = &needed("tid"), tim_ = &needed("tim"), valid_ = &needed("vld");
        if (loc_->count != 3) refuse(fmt::format("its field {} has {} numbers, not 3", loc_->name, loc_->count));
        if (!is_nested) final_ = &needed("fnl");
        if (loc_->repeats < 1) refuse("has no iteration");
        last_ = loc_->repeats - 1;
        const std::uint64_t room = (file_.size() - std::min(file_.size(), data_at_)) / header_.record_bytes;
        if (header_.rows > room)
            throw InputError(
                fmt::format("{}: is cut off: its header claims {} records, the file has room for {}; copy it again",
                            file_.name(), header_.rows, room));
        constexpr double px_nm = 100;  // as in most single-molecule movies
        about.pixel_size_nm = pixel_size_nm > 0 ? pixel_size_nm : px_nm;
        survey();
        add_columns(in);
        tell();
    }

    void restart() override { read_ = 0, next_frame_ = 0, trace_ = none; }

    std::size_t add_rows(std::size_t most) override {
        std::size_t added = 0;
        for (std::vector<std::byte> some; added < most && read_ < header_.rows;) {
            const std::uint64_t count = records(read_, some);
            std::uint64_t k = 0;
            for (; k < count && added < most; ++k) {
                const std::byte* record = some.data() + k * header_.record_bytes;
                if (!counts(record)) continue;
                add_row(record), ++added;
            }
            read_ += k;
        }
        return added;
    }

  private:
    static constexpr double none = -std::numeric_limits<double>::infinity();  // no trace has this number

    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(
            fmt::format("{}: {}: it is no table of MINFLUX localizations that is known", file_.name(), why));
    }

    std::string header_text() {
        const std::string start = bytes_at(file_, 0, 12);
        const int version = start.size() < 12 ? 0 : start[6];
        if (version < 1 || version > 3 || !start.starts_with(npy_magic)) refuse("has no whole .npy header");
        const std::uint64_t prefix = version == 1 ? 10 : 12;
        const std::uint64_t length =
            version == 1 ? number_at<std::uint16_t>(start, 8) : number_at<std::uint32_t>(start, 8);
        if (length > longest_npy_header) refuse(fmt::format("has an .npy header of {} bytes", length));
        data_at_ = prefix + length;
        std::string text = bytes_at(file_, prefix, length);
        if (text.size() < length) refuse("ends within its .npy header");
        return text;
    }

    const RecordField& needed(const std::string& name) const {
        const RecordField* field = header_.find(name);
        if (!field || !holds_numbers(*field)) {
            std::string found;
            for (const RecordField& one : header_.fields) found += (found.empty() ? "" : ", ") + one.name;
            refuse(fmt::format("has no field {} of numbers (it has {})", name, found));
        }
        return *field;
    }

    /// Reads records from `first` on. Returns their number.
    std::uint64_t records(std::uint64_t first, std::vector<std::byte>& to) const {
        constexpr std::uint64_t bytes_at_once = 1 << 22;
        const std::uint64_t count =
            std::min(header_.rows - first, std::max<std::uint64_t>(1, bytes_at_once / header_.record_bytes));
        to.resize(std::size_t(count * header_.record_bytes));
        if (file_.read_at(data_at_ + first * header_.record_bytes, to.data(), to.size()) != to.size())
            throw InputError(fmt::format("{}: was cut off while it was read", file_.name()));
        return count;
    }

    double place(const std::byte* record, std::uint64_t axis) const { return value_in(record, *loc_, last_, axis); }

    /// Returns true if the record is valid and contains the last iteration of a localization.
    bool counts(const std::byte* record) const {
        return value_in(record, *valid_, 0, 0) != 0 && (!final_ || value_in(record, *final_, 0, 0) != 0) &&
               std::isfinite(place(record, 0)) && std::isfinite(place(record, 1));
    }

    void survey() {
        constexpr double no_depth_m = 1e-11;
        double min_x = std::numeric_limits<double>::infinity(), min_y = min_x, trace = none;
        std::size_t localizations = 0;
        std::vector<std::byte> some;
        for (std::uint64_t first = 0; first < header_.rows;) {
            const std::uint64_t count = records(first, some);
            for (std::uint64_t k = 0; k < count; ++k) {
                const std::byte* record = some.data() + k * header_.record_bytes;
                invalid_ += value_in(record, *valid_, 0, 0) == 0;
                if (!counts(record)) continue;
                ++localizations;
                min_x = std::min(min_x, place(record, 0)), min_y = std::min(min_y, place(record, 1));
                has_depth_ = has_depth_ || std::abs(place(record, 2)) > no_depth_m;
                const double tid = value_in(record, *tid_, 0, 0);
                traces_ += tid != trace, trace = tid;
            }
            first += count;
        }
        rows = localizations;
        const auto shift = [](double min_m) {
            constexpr double step_nm = 1000;
            return std::isfinite(min_m) && min_m < 0 ? step_nm * std::ceil(-min_m * 1e9 / step_nm) : 0;
        };
        shift_x_nm_ = shift(min_x), shift_y_nm_ = shift(min_y);
    }

    struct Column {
        int to;
        const RecordField* field;
        std::uint64_t iteration, which;
    };

    void add(const std::string& name, const RecordField* field, std::uint64_t which = 0, double scale = 1,
             double shift = 0) {
        if (!field || !holds_numbers(*field) || which >= field->count) return;
        const int to = builder.add_column(name, scale, shift);
        if (to < 0) return;
        columns_.push_back({to, field, field->repeats - 1, which});
        if (field->kind != 'f') builder.set_integer(to);
    }

    void add_columns(const std::string& in) {
        const double px_per_m = 1e9 / about.pixel_size_nm;
        frame_ = builder.add_column("frame");
        builder.set_integer(frame_);
        add("x", loc_, 0, px_per_m, shift_x_nm_ / about.pixel_size_nm);
        add("y", loc_, 1, px_per_m, shift_y_nm_ / about.pixel_size_nm);
        if (has_depth_) add("z", loc_, 2, 1e9);
        add("tid", tid_);
        add("tim", tim_);
        for (const char* name : {"eco", "ecc", "efo", "efc", "cfr", "dcr", "fbg"}) add(name, header_.find(in + name));
    }

    void add_row(const std::byte* record) {
        const double tid = value_in(record, *tid_, 0, 0);
        if (tid != trace_ && trace_ != none) ++next_frame_;
        trace_ = tid;
        builder.add_value(frame_, double(next_frame_++));
        for (const Column& column : columns_)
            builder.add_value(column.to, value_in(record, *column.field, column.iteration, column.which));
    }

    void tell() const {
        if (!warn) return;
        warn(fmt::format(
            "{}: MINFLUX has no frames: each localization is a frame of its own, in the order of the file, and a "
            "number is "
            "left out between traces, so that linking with a gap of 0 joins no two traces. Column tid has the trace, "
            "tim the "
            "time in seconds; the table has {} in {}, and no photons (eco has the counts of the last iteration)",
            path.string(), fmt::format("{} localization{}", *rows, *rows == 1 ? "" : "s"),
            fmt::format("{} trace{}", traces_, traces_ == 1 ? "" : "s")));
        warn(fmt::format(
            "{}: has no camera pixels: one px is {:g} nm here (`table_pixel_size`), and x and y are moved by "
            "{:g} and {:g} nm, since "
            "pictures begin at 0",
            path.string(), about.pixel_size_nm, shift_x_nm_, shift_y_nm_));
        if (has_depth_)
            warn(
                fmt::format("{}: z is as in the file, without a factor for the refractive index (0.7 or so where the "
                            "program did not correct it)",
                            path.string()));
        if (invalid_ > 0)
            warn(fmt::format("{}: {} of {} records are not valid (vld) and are left out", path.string(), invalid_,
                             header_.rows));
    }

    InputFile file_;
    std::uint64_t data_at_ = 0;
    RecordHeader header_;
    const RecordField *loc_ = nullptr, *tid_ = nullptr, *tim_ = nullptr, *valid_ = nullptr, *final_ = nullptr;
    std::uint64_t last_ = 0, invalid_ = 0, traces_ = 0;
    bool has_depth_ = false;
    double shift_x_nm_ = 0, shift_y_nm_ = 0;
    std::vector<Column> columns_;
    int frame_ = -1;
    std::uint64_t read_ = 0, next_frame_ = 0;
    double trace_ = none;
};

/// Accepts any .npy. One without MINFLUX localizations is rejected later, with the reason.
bool is_minflux(const fs::path& path) { return begins_with(InputFile(path), npy_magic); }

OpenTable open_minflux(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<MinfluxTable>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat minflux_tables() {
    return {.name = "MINFLUX",
            .endings = {".npy"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_minflux(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_minflux(path, pixel_size_nm, warn); }};
}

}  // namespace glint
