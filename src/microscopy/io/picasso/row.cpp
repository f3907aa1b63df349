// Picasso's default order and types of columns, and how rows are packed.
// SPDX-License-Identifier: MIT
#include "io/picasso/row.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "data/whole_numbers.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

using PicassoNumber = PicassoRow::Number;

/// Picasso's columns in its default order. glint's further columns come last, then extra ones by name.
constexpr const char* default_order[] = {"frame",
                                         "x",
                                         "y",
                                         "photons",
                                         "sx",
                                         "sy",
                                         "bg",
                                         "lpx",
                                         "lpy",
                                         "ellipticity",
                                         "net_gradient",
                                         "log_likelihood",
                                         "iterations",
                                         "photons_unc",
                                         "bg_unc",
                                         "sx_unc",
                                         "sy_unc",
                                         "z",
                                         "lpz",
                                         "d_zcalib",
                                         "len",
                                         "n",
                                         "photon_rate",
                                         "group",
                                         "detection_score",
                                         "p_value",
                                         "emitters",
                                         "status"};

/// Returns the type of a column that glint only copies: Picasso's type if all values fit, else i4, i8 or f8.
PicassoNumber number_of_extra(const std::string& name, const ExtraColumn& column, bool sees_all) {
    const bool fits_integers = all_finite(column.values);
    if (name == "n" && sees_all && all_within<std::uint32_t>(column.values)) return PicassoNumber::u32;
    if (fits_integers && (column.is_integer || name == "group" || name == "len" || name == "n"))
        return sees_all && all_within<std::int32_t>(column.values) ? PicassoNumber::i32 : PicassoNumber::i64;
    for (const char* known : {"ellipticity", "net_gradient", "d_zcalib", "photon_rate", "p_single"})
        if (name == known) return PicassoNumber::f32;
    return PicassoNumber::f64;
}

std::optional<PicassoRow::Field> field_of(const std::string& name, const Localizations& like, bool sees_all) {
    PicassoRow::Field field;
    field.name = name;
    if (name == "frame" || (name == "iterations" && !like.iterations.empty())) {
        field.number = PicassoNumber::u32;
        field.integers = name == "frame" ? &Localizations::frame : &Localizations::iterations;
        return field;
    }
    if (name == "status" && !like.status.empty()) {
        field.number = PicassoNumber::u8, field.status = true;
        return field;
    }
    for (const LocalizationColumn& column : localization_columns())
        if (column.name == name && !(like.*column.values).empty()) {
            field.number = PicassoNumber::f32, field.floats = column.values;
            return field;
        }
    const auto extra = like.extra.find(name);
    if (extra == like.extra.end()) return {};
    field.number = number_of_extra(name, extra->second, sees_all), field.extra = true;
    return field;
}

bool is_real(PicassoNumber number) { return number == PicassoNumber::f32 || number == PicassoNumber::f64; }

hid_t picasso_file_type(PicassoNumber number) {
    switch (number) {
        case PicassoNumber::u8: return H5T_STD_U8LE;
        case PicassoNumber::i32: return H5T_STD_I32LE;
        case PicassoNumber::u32: return H5T_STD_U32LE;
        case PicassoNumber::i64: return H5T_STD_I64LE;
        case PicassoNumber::f32: return H5T_IEEE_F32LE;
        case PicassoNumber::f64: break;
    }
    return H5T_IEEE_F64LE;
}

/// Puts one extra value into its record.
void put_extra(PicassoNumber number, double value, std::byte* to) {
    const auto put = [to](auto typed) { std::memcpy(to, &typed, sizeof typed); };
    switch (number) {
        case PicassoNumber::u8: return put(whole<std::uint8_t>(value));
        case PicassoNumber::i32: return put(whole<std::int32_t>(value));
        case PicassoNumber::u32: return put(whole<std::uint32_t>(value));
        case PicassoNumber::i64: return put(whole<std::int64_t>(value));
        case PicassoNumber::f32: return put(float(value));
        case PicassoNumber::f64: return put(value);
    }
}

}  // namespace

std::span<const char* const> picasso_order() { return default_order; }

PicassoRow::PicassoRow(const Localizations& like, bool sees_all) {
    const auto add = [&](const std::string& name) {
        if (has(name)) return;
        if (auto field = field_of(name, like, sees_all)) fields_.push_back(std::move(*field));
    };
    for (const char* name : default_order) add(name);
    for (const LocalizationColumn& column : localization_columns()) add(std::string(column.name));
    for (const auto& [name, column] : like.extra) add(name);
    for (Field& field : fields_) {
        field.offset = bytes_;
        bytes_ += H5Tget_size(picasso_file_type(field.number));
    }
    type_ = hdf5::Handle(H5Tcreate(H5T_COMPOUND, bytes_));
    for (const Field& field : fields_)
        H5Tinsert(type_, field.name.c_str(), field.offset, picasso_file_type(field.number));
}

bool PicassoRow::has(const std::string& name) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
}

std::vector<std::string> PicassoRow::real_extras() const {
    std::vector<std::string> names;
    for (const Field& field : fields_)
        if (field.extra && is_real(field.number)) names.push_back(field.name);
    return names;
}

std::size_t PicassoRow::pack(const Localizations& piece, RowBlock rows, std::vector<std::byte>& records) const {
    std::size_t not_finite = 0;
    const auto finite = [&](auto value) {
        if (std::isfinite(value)) return value;
        ++not_finite;
        return decltype(value)(0);
    };
    records.resize(rows.count() * bytes_);
    for (const Field& field : fields_) {
        std::byte* to = records.data() + field.offset;
        const std::vector<double>* extra = field.extra ? &piece.extra.at(field.name).values : nullptr;
        const bool is_kept = extra && is_real(field.number);
        for (std::size_t k = rows.first; k < rows.end; ++k, to += bytes_) {
            if (field.floats) {
                const float value = finite((piece.*field.floats)[k]);
                std::memcpy(to, &value, sizeof value);
            } else if (field.integers) {
                std::memcpy(to, &(piece.*field.integers)[k], sizeof(std::uint32_t));
            } else if (field.status) {
                std::memcpy(to, &piece.status[k], 1);
            } else {
                put_extra(field.number, is_kept ? (*extra)[k] : finite((*extra)[k]), to);
            }
        }
    }
    return not_finite;
}

}  // namespace glint
