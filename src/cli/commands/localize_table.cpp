// Checks and writes the table of a batch of movies.
// SPDX-License-Identifier: MIT
#include "cli/commands/localize.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/flags/output_flags.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/csv_text.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view header = "movie,frames,spots,localizations,noise_check,status,error,output";

std::string joined(const std::vector<std::string>& movies) {
    std::string text;
    for (const std::string& movie : movies) text += (text.empty() ? "" : "; ") + movie;
    return text;
}

/// Returns the status of a task. `result` is null if the task was not begun.
const char* status_of(const Json& result) {
    if (result.is_null()) return "not begun";
    if (result.contains("error")) return "failed";
    if (result.contains("skipped")) return "finished before";
    return result.at("complete") ? "complete" : "stopped";
}

std::string row_of(const LocalizeTask& task, const Json& result) {
    const auto number = [&](const char* name) {
        return result.contains(name) && result[name].is_number() ? result[name].dump() : std::string();
    };
    const bool failed = result.contains("error"), begun = !result.is_null();
    return fmt::format("{},{},{},{},{},{},{},{}\n", csv_text(joined(task.movies)), number("frames"), number("spots"),
                       number("localizations"), number("noise_check"), status_of(result),
                       failed ? csv_text(result["error"].at("message").get<std::string>()) : "",
                       begun && !failed ? csv_text(result.at("output").get<std::string>()) : "");
}

bool is_summary_table(const fs::path& path) {
    std::string line;
    std::ifstream in(path);
    return std::getline(in, line) && line == header;
}

}  // namespace

void check_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks) {
    if (flags.summary.empty()) return;
    const fs::path table = flags.summary;
    if (table.extension() != ".csv")
        throw OptionError(
            fmt::format("--summary {}: the table is written as CSV, to a name that ends in .csv", flags.summary));
    const bool replaces = flags.options.overwrite || (flags.options.resume && is_summary_table(table));
    check_outputs({table}, if_exists(replaces), {flags.movies.begin(), flags.movies.end()});
    for (const LocalizeTask& task : tasks) {
        Paths outputs = files_of_localizations(task.out);
        outputs.push_back(partial_path(task.out));
        outputs.push_back(table);
        check_outputs(outputs, IfExists::replace, {});
    }
}

void write_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks,
                         const std::vector<Json>& results) {
    if (flags.summary.empty()) return;
    std::string text = fmt::format("{}\n", header);
    for (std::size_t k = 0; k < tasks.size(); ++k) text += row_of(tasks[k], k < results.size() ? results[k] : Json());
    AtomicFile file(flags.summary, if_exists(flags.options.overwrite || flags.options.resume));
    file.write(text);
    file.commit();
}

}  // namespace glint::cli
