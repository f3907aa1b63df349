// Bindings of reports; users see glint/reporting.py.
// SPDX-License-Identifier: MIT
#include "glint/report.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "glint/run_report.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

/// What Python passes besides the source.
struct ReportArguments {
    std::string title;
    std::vector<std::string> tables, warnings;
    double size_mb = 80;
    int raw_frames = 20;
    bool overwrite = false;
};

ReportOptions options_of(const ReportArguments& arguments, SharedMovie* movie, const Running& running) {
    ReportOptions options;
    options.title = arguments.title, options.tables = arguments.tables, options.warnings = arguments.warnings;
    options.size_mb = arguments.size_mb, options.raw_frames = arguments.raw_frames;
    options.movie = movie ? movie->movie.get() : nullptr, options.stop = running.stop();
    return options;
}

/// One reader at a time.
std::unique_lock<std::mutex> locked(SharedMovie* movie) {
    return movie ? std::unique_lock(movie->mutex) : std::unique_lock<std::mutex>();
}

nb::dict dict_of(const ReportInfo& info) {
    nb::dict dict;
    dict["rows"] = info.rows, dict["stored_rows"] = info.stored_rows, dict["bytes"] = info.bytes;
    dict["raw_frames"] = info.raw_frames, dict["missing"] = in_python(info.missing);
    return dict;
}

nb::dict report_table(const fs::path& path, const Localizations& table, const ReportArguments& arguments,
                      SharedMovie* movie, bool measures) {
    Running running;
    return dict_of(running.run([&] {
        ReportOptions options = options_of(arguments, movie, running);
        std::optional<Resolution> measured;
        if (measures && table.pixel_size_nm > 0 && table.size() > 0) {
            ResolutionOptions of_resolution;
            of_resolution.stop = running.stop();
            try {
                measured = resolution(table, of_resolution);
            } catch (const InputError& error) {
                options.warnings.push_back(std::string("NeNA and FRC were not measured: ") + error.what());
            } catch (const OptionError& error) {  // positions far from all others
                options.warnings.push_back(std::string("NeNA and FRC were not measured: ") + error.what());
            }
        }
        if (measured) options.resolution = &*measured;
        const auto lock = locked(movie);
        return write_report(path, table, options, arguments.overwrite ? IfExists::replace : IfExists::refuse);
    }));
}

nb::dict report_folder(const fs::path& path, const fs::path& folder, const ReportArguments& arguments,
                       SharedMovie* movie, nb::object warn) {
    Running running;
    const Warn pass = running.text(warn);
    return dict_of(running.run([&] {
        const auto lock = locked(movie);
        return write_run_report(path, folder, options_of(arguments, movie, running), pass,
                                arguments.overwrite ? IfExists::replace : IfExists::refuse);
    }));
}

}  // namespace

void bind_report(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ReportArguments>(m, "ReportArguments")
        .def(nb::init<>())
        .def_rw("title", &ReportArguments::title)
        .def_rw("tables", &ReportArguments::tables)
        .def_rw("warnings", &ReportArguments::warnings)
        .def_rw("size_mb", &ReportArguments::size_mb)
        .def_rw("raw_frames", &ReportArguments::raw_frames)
        .def_rw("overwrite", &ReportArguments::overwrite);
    m.def("report_table", &report_table, "path"_a, "table"_a, "arguments"_a, "movie"_a.none(), "measures"_a);
    m.def("report_folder", &report_folder, "path"_a, "folder"_a, "arguments"_a, "movie"_a.none(), "warn"_a);
}

}  // namespace glint::python
