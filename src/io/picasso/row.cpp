// Picasso's usual order and types of columns, and the packing of rows.
// SPDX-License-Identifier: MIT
#include "io/picasso/row.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "data/whole_numbers.hpp"
#include "io/picasso/order.hpp"

namespace glint {
namespace {

using Field = PicassoRow::Field;

/// Picasso's columns in its usual order; ours that it does not know come last, then further ones by name.
constexpr const char* usual_order[] = {"frame",
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

/// Types of the columns that glint only copies: Picasso's own, unless values do not fit; else i4, i8 or f8.
hid_t type_of_extra(const std::string& name, const ExtraColumn& column, bool sees_all) {
    const bool fits_integers = all_finite(column.values);
    if (name == "n" && sees_all && all_within<std::uint32_t>(column.values)) return H5T_STD_U32LE;
    if (fits_integers && (column.is_integer || name == "group" || name == "len" || name == "n"))
        return sees_all && all_within<std::int32_t>(column.values) ? H5T_STD_I32LE : H5T_STD_I64LE;
    for (const char* known : {"ellipticity", "net_gradient", "d_zcalib", "photon_rate"})
        if (name == known) return H5T_IEEE_F32LE;
    return H5T_IEEE_F64LE;
}

std::optional<Field> field_of(const std::string& name, const Localizations& like, bool sees_all) {
    Field field;
    field.name = name;
    if (name == "frame" || (name == "iterations" && !like.iterations.empty())) {
        field.type = H5T_STD_U32LE;
        field.integers = name == "frame" ? &Localizations::frame : &Localizations::iterations;
        return field;
    }
    if (name == "status" && !like.status.empty()) {
        field.type = H5T_STD_U8LE, field.status = true;
        return field;
    }
    for (const LocalizationColumn& column : localization_columns())
        if (column.name == name && !(like.*column.values).empty()) {
            field.type = H5T_IEEE_F32LE, field.floats = column.values;
            return field;
        }
    const auto extra = like.extra.find(name);
    if (extra == like.extra.end()) return {};
    field.type = type_of_extra(name, extra->second, sees_all), field.extra = true;
    return field;
}

bool is_real(hid_t type) { return H5Tget_class(type) == H5T_FLOAT; }

/// Puts one extra value into its record.
void put_extra(hid_t type, double value, std::byte* to) {
    const auto put = [to](auto typed) { std::memcpy(to, &typed, sizeof typed); };
    if (type == H5T_STD_I32LE)
        put(whole<std::int32_t>(value));
    else if (type == H5T_STD_U32LE)
        put(whole<std::uint32_t>(value));
    else if (type == H5T_STD_I64LE)
        put(whole<std::int64_t>(value));
    else if (type == H5T_IEEE_F32LE)
        put(float(value));
    else
        put(value);
}

}  // namespace

std::span<const char* const> picasso_order() { return usual_order; }

PicassoRow::PicassoRow(const Localizations& like, bool sees_all) {
    const auto add = [&](const std::string& name) {
        if (has(name)) return;
        if (auto field = field_of(name, like, sees_all)) fields_.push_back(std::move(*field));
    };
    for (const char* name : usual_order) add(name);
    for (const LocalizationColumn& column : localization_columns()) add(std::string(column.name));
    for (const auto& [name, column] : like.extra) add(name);
    for (Field& field : fields_) {
        field.offset = bytes_;
        bytes_ += H5Tget_size(field.type);
    }
    type_ = hdf5::Handle(H5Tcreate(H5T_COMPOUND, bytes_));
    for (const Field& field : fields_) H5Tinsert(type_, field.name.c_str(), field.offset, field.type);
}

bool PicassoRow::has(const std::string& name) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
}

std::vector<std::string> PicassoRow::real_extras() const {
    std::vector<std::string> names;
    for (const Field& field : fields_)
        if (field.extra && is_real(field.type)) names.push_back(field.name);
    return names;
}

std::size_t PicassoRow::pack(const Localizations& piece, std::size_t first, std::size_t count,
                             std::vector<std::byte>& records) const {
    std::size_t not_finite = 0;
    const auto finite = [&](auto value) {
        if (std::isfinite(value)) return value;
        ++not_finite;
        return decltype(value)(0);
    };
    records.resize(count * bytes_);
    for (const Field& field : fields_) {
        std::byte* to = records.data() + field.offset;
        const std::vector<double>* extra = field.extra ? &piece.extra.at(field.name).values : nullptr;
        const bool is_kept = extra && is_real(field.type);
        for (std::size_t k = first; k < first + count; ++k, to += bytes_) {
            if (field.floats) {
                const float value = finite((piece.*field.floats)[k]);
                std::memcpy(to, &value, sizeof value);
            } else if (field.integers) {
                std::memcpy(to, &(piece.*field.integers)[k], sizeof(std::uint32_t));
            } else if (field.status) {
                std::memcpy(to, &piece.status[k], 1);
            } else {
                put_extra(field.type, is_kept ? (*extra)[k] : finite((*extra)[k]), to);
            }
        }
    }
    return not_finite;
}

}  // namespace glint
