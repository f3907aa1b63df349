// Bindings of localization tables: columns, files, Picasso's names; users see glint/localizations.py.
// SPDX-License-Identifier: MIT
#include "glint/localizations.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "columns.hpp"
#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/localization_io.hpp"
#include "glint/localization_reader.hpp"
#include "glint/merge.hpp"
#include "io/files/check_outputs.hpp"
#include "io/picasso/metadata.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

/// Returns the column's name with its unit, as in struct Localizations.
std::string to_name(const LocalizationColumn& column) {
    const bool suffix = column.unit == "px" || column.unit == "nm";
    return std::string(column.name) + (suffix ? "_" + std::string(column.unit) : "");
}

std::vector<std::int64_t> integers_in(const std::vector<double>& values) {
    std::vector<std::int64_t> integers;
    integers.reserve(values.size());
    for (double value : values) integers.push_back(whole<std::int64_t>(value));
    return integers;
}

nb::dict columns_of(Localizations& table, nb::handle owner) {
    Columns columns(owner);
    columns.add("frame", table.frame);
    for (const LocalizationColumn& column : localization_columns())
        if (table.size() > 0)
            columns.add_if_known(to_name(column), table.*column.values);
        else if (column.name == "x" || column.name == "y")  // present also in a table without rows
            columns.add(to_name(column), table.*column.values);
    columns.add_if_known("iterations", table.iterations);
    columns.add_if_known("status", table.status);
    for (auto& [name, column] : table.extra) {
        if (column.is_integer && !column.values.empty())
            columns.add_copy(name, integers_in(column.values));
        else
            columns.add_if_known(name, column.values);
    }
    return columns.take();
}

/// Converts to the column's type; raises TypeError, naming the column, if that is impossible.
template <class T>
std::vector<T> converted(nb::handle values, const std::string& name) {
    Vector<T> array;
    if (!nb::try_cast(values, array)) throw nb::type_error(("column " + name + " cannot be converted").c_str());
    return vector_of(array);
}

void set_column(Localizations& table, const std::string& name, nb::handle values) {
    if (name == "frame") return void(table.frame = converted<std::uint32_t>(values, name));
    if (name == "iterations") return void(table.iterations = converted<std::uint32_t>(values, name));
    if (name == "status") return void(table.status = converted<std::uint8_t>(values, name));
    for (const LocalizationColumn& column : localization_columns())
        if (to_name(column) == name) return void(table.*column.values = converted<float>(values, name));
    nb::ndarray<nb::ro> array;
    const bool is_integer =
        nb::try_cast(values, array, false) && array.dtype().code == std::uint8_t(nb::dlpack::dtype_code::Int);
    table.extra[name] = {converted<double>(values, name), is_integer};
}

Localizations table_of(const nb::dict& columns, int width, int height, std::int64_t frames, double pixel_size_nm,
                       const std::vector<std::string>& history) {
    Localizations table;
    for (const auto [name, values] : columns) set_column(table, nb::cast<std::string>(name), values);
    table.width = width, table.height = height, table.frames = frames;
    table.pixel_size_nm = pixel_size_nm, table.history = history;
    return table;
}

/// Returns pairs (Picasso's name, glint's name) in Picasso's order.
std::vector<std::pair<std::string, std::string>> picasso_names() {
    std::vector<std::pair<std::string, std::string>> names;
    for (const char* theirs : picasso_order()) {
        std::string ours = theirs;
        for (const LocalizationColumn& column : localization_columns())
            if (column.name == theirs) ours = to_name(column);
        names.emplace_back(theirs, ours);
    }
    return names;
}

std::vector<std::string> float_columns() {
    std::vector<std::string> names;
    for (const LocalizationColumn& column : localization_columns()) names.push_back(to_name(column));
    return names;
}

std::string picasso_info(const Localizations& table) {
    return to_json(with_facts(table.history, {table.width, table.height, table.frames, table.pixel_size_nm}));
}

/// Returns the table and, if it has no rows, a row with the columns that it would have.
std::pair<Localizations, Localizations> read(const std::filesystem::path& path, double pixel_size_nm, bool truth,
                                             std::optional<int> first_frame,
                                             const std::map<std::string, std::string>& columns, nb::handle warn) {
    Running running;
    const Warn tell = running.text(warn);
    return running.run([&]() -> std::pair<Localizations, Localizations> {
        const TextConventions text{first_frame, columns};
        if (truth) return {read_truth(path, pixel_size_nm, tell, text), {}};
        Localizations table = read_localizations(path, tell, pixel_size_nm, text), example;
        if (table.size() == 0)
            example = LocalizationReader(path, {}, {.pixel_size_nm = pixel_size_nm, .text = text}).example();
        return {std::move(table), std::move(example)};
    });
}

Localizations merge_tables(const std::vector<Localizations>& tables, bool consecutive, nb::handle warn) {
    Running running;
    const Warn tell = running.text(warn);
    const FramesOfMerged frames = consecutive ? FramesOfMerged::consecutive : FramesOfMerged::as_they_are;
    return running.run([&] { return merge(tables, frames, tell); });
}

Localizations filter_table(const Localizations& table, const std::vector<std::string>& conditions) {
    Running running;
    return running.run([&] { return filter(table, conditions, running.stop()).table; });
}

/// A table without rows, with the columns of a given row.
class NoRows final : public TablePieces {
  public:
    explicit NoRows(const Localizations& example) : example_(example), none_(select(example, {})) {}
    const Localizations& like() const override { return none_; }
    void for_each(const Visit& visit) override { visit(none_); }
    Localizations example() const override { return example_; }

  private:
    const Localizations& example_;
    Localizations none_;
};

void write(const std::filesystem::path& path, const Localizations& table, bool has_rows, bool truth, bool overwrite,
           nb::handle warn) {
    Running running;
    const Warn tell = running.text(warn);
    running.run([&] {
        const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
        if (truth) {
            check_outputs({path}, if_exists, {});
            write_truth(path, table, if_exists);
        } else {
            check_localizations_output(path, if_exists, {});
            WholeTable whole(table);
            NoRows none(table);
            write_localizations(path, has_rows ? static_cast<TablePieces&>(whole) : none, tell, if_exists);
        }
        return true;
    });
}

}  // namespace

void bind_localizations(nb::module_& m) {
    nb::class_<Localizations>(m, "Localizations")
        .def("__init__",
             [](Localizations* to, const nb::dict& columns, int width, int height, std::int64_t frames,
                double pixel_size_nm, const std::vector<std::string>& history) {
                 new (to) Localizations(table_of(columns, width, height, frames, pixel_size_nm, history));
             })
        .def_prop_ro("columns", [](nb::handle self) { return columns_of(nb::cast<Localizations&>(self), self); })
        .def_ro("width", &Localizations::width)
        .def_ro("height", &Localizations::height)
        .def_ro("frames", &Localizations::frames)
        .def_ro("pixel_size_nm", &Localizations::pixel_size_nm)
        .def_ro("history", &Localizations::history)
        .def_prop_ro("picasso_info", &picasso_info);
    m.def("picasso_names", &picasso_names);
    m.def("float_columns", &float_columns);
    m.def("localization_formats", [] {
        std::vector<std::tuple<std::string, std::vector<std::string>, bool>> formats;
        for (const LocalizationFormat& one : localization_formats())
            formats.emplace_back(one.name, one.endings, one.is_written);
        return formats;
    });
    m.def("read_localizations", &read, "path"_a, "pixel_size_nm"_a, "truth"_a, "first_frame"_a.none(), "columns"_a,
          "warn"_a);
    m.def("merge_localizations", &merge_tables, "tables"_a, "consecutive"_a, "warn"_a);
    m.def("filter_localizations", &filter_table, "table"_a, "conditions"_a);
    m.def("write_localizations", &write, "path"_a, "table"_a, "has_rows"_a, "truth"_a, "overwrite"_a, "warn"_a);
}

}  // namespace glint::python
