// Reads what a run left in its folder, for the report.
// SPDX-License-Identifier: MIT
#include "glint/run_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>

#include "glint/error.hpp"
#include "glint/localization_reader.hpp"
#include "glint/movie_io.hpp"
#include "glint/workflow.hpp"
#include "workflow/number_table.hpp"
#include "workflow/record.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

Json record_of(const fs::path& folder) {
    const Json record = RunRecord::read(folder);
    if (!record.is_object())
        throw InputError(fmt::format(
            "{} has no run.json that can be read: give a folder of glint run, as results/MOVIE", folder.string()));
    return record;
}

std::string text_of_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

double number_of(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : std::nan("");
}

Measured measured_of(const Json& json, const char* name) {
    const Json one = json.value(name, Json::object());
    return {number_of(one, "nm"), number_of(one, "error_nm")};
}

std::vector<double> numbers_of(const Json& json, const char* name) {
    std::vector<double> values;
    for (const Json& value : json.value(name, Json::array()))
        values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
    return values;
}

std::size_t count_of(const Json& json, const char* name) {
    const double value = number_of(json, name);
    return value > 0 ? std::size_t(value) : 0;
}

/// Returns the resolution that the run measured; nothing if it did not.
std::optional<Resolution> resolution_of(const fs::path& folder) {
    const Json json = Json::parse(text_of_file(folder / "resolution.json"), nullptr, false);
    if (!json.is_object()) return {};
    const Json nena = json.value("nena", Json::object()), frc = json.value("frc", Json::object());
    Resolution found;
    found.nena.precision = measured_of(nena, "precision"), found.nena.single = measured_of(nena, "single");
    found.nena.stated_nm = number_of(nena, "stated_nm"), found.nena.same_molecule = number_of(nena, "same_molecule");
    found.nena.pairs = count_of(nena, "pairs");
    found.nena.distance_nm = numbers_of(nena, "distance_nm"), found.nena.counts = numbers_of(nena, "counts");
    found.nena.fit = numbers_of(nena, "fit");
    found.frc.resolution = measured_of(frc, "resolution");
    found.frc.units = count_of(frc, "units"), found.frc.splits = int(count_of(frc, "splits"));
    if (const NumberTable curve = NumberTable::read(folder / "figures/frc.csv"); curve.columns() == 3)
        found.frc.frequency_per_nm = curve.column(0), found.frc.correlation = curve.column(1),
        found.frc.smoothed = curve.column(2);
    for (const Json& caveat : json.value("caveats", Json::array()))
        if (caveat.is_string()) found.caveats.push_back(caveat);
    return found;
}

/// Returns the drift that the run subtracted; nothing if it did not.
std::optional<Drift> drift_of(const fs::path& folder) {
    const NumberTable table = NumberTable::read(folder / "figures/drift.csv");
    if (table.columns() != 5 && table.columns() != 7) return {};
    Drift drift;
    drift.x = {table.column(1), table.column(2)}, drift.y = {table.column(3), table.column(4)};
    if (table.columns() == 7) drift.z = {table.column(5), table.column(6)};
    return drift;
}

/// Returns the movie of a run, if all its files still exist.
std::unique_ptr<Movie> movie_of(const fs::path& folder, const Json& record, const Warn& warn) {
    std::vector<fs::path> files;
    for (const Json& file : record.value("movie", Json::object()).value("files", Json::array()))
        if (file.is_string()) files.emplace_back(file.get<std::string>());
    std::error_code none;
    for (const fs::path& file : files)
        if (!fs::exists(file, none)) return nullptr;
    if (files.empty()) return nullptr;
    try {
        const fs::path recipe = folder.parent_path() / "recipe.toml";
        return open_joined_movie(files, fs::exists(recipe, none) ? read_recipe(recipe).movie : MovieChoice());
    } catch (const Error& error) {
        if (warn) warn(fmt::format("the report has no raw frames: {}", error.what()));
        return nullptr;
    }
}

}  // namespace

fs::path table_of_run(const fs::path& folder) {
    const Json record = record_of(folder), steps = record.value("steps", Json::object());
    const std::pair<const char*, const char*> tables[] = {
        {"drift", "3_corrected.hdf5"}, {"filter", "2_filtered.hdf5"}, {"localize", "1_localized.hdf5"}};
    std::error_code none;
    for (const auto& [step, file] : tables)
        if (steps.value(step, Json::object()).value("outputs", Json::object()).contains(file) &&
            fs::exists(folder / file, none))
            return folder / file;
    throw InputError(
        fmt::format("{} has no finished table of localizations: continue it with glint run", folder.string()));
}

ReportInfo write_run_report(const fs::path& path, const fs::path& given, const ReportOptions& options, const Warn& warn,
                            IfExists if_exists) {
    const fs::path folder = given.filename().empty() ? given.parent_path() : given;
    const Json record = record_of(folder);
    const fs::path table = table_of_run(folder);
    ReportOptions own = options;
    if (own.title.empty()) own.title = fs::absolute(folder).lexically_normal().filename().string();
    if (own.tables.empty()) own.tables = {table.string()};
    if (own.record.empty()) own.record = record.dump(-1, ' ', false, Json::error_handler_t::replace);
    const Json steps = record.value("steps", Json::object());
    const std::optional<Resolution> resolution =
        !own.resolution && steps.contains("resolution") ? resolution_of(folder) : std::nullopt;
    if (resolution) own.resolution = &*resolution;
    const bool is_corrected = table.filename() == "3_corrected.hdf5";
    const std::optional<Drift> drift = !own.drift && is_corrected ? drift_of(folder) : std::nullopt;
    if (drift) own.drift = &*drift;
    // The page shows them, too.
    const Warn warn_and_keep = [&](const std::string& warning) {
        own.warnings.push_back(warning);
        if (warn) warn(warning);
    };
    const std::unique_ptr<Movie> movie = own.movie ? nullptr : movie_of(folder, record, warn_and_keep);
    if (movie) own.movie = movie.get();
    LocalizationReader reader(table, warn_and_keep, PieceOptions{.stop = own.stop});
    return write_report(path, reader, own, if_exists);
}

}  // namespace glint
