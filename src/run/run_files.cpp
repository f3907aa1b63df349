// Names of a run's files.
// SPDX-License-Identifier: MIT
#include "run/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "glint/localization_io.hpp"
#include "glint/localize.hpp"

namespace glint {

namespace fs = std::filesystem;

fs::path journal_path(const fs::path& out) { return fs::path(out) += ".journal"; }

fs::path partial_path(const fs::path& out) {
    std::string name = out.filename().string();
    name.insert(name.size() - localization_ending(out).size(), ".partial");  // keeps the ending, which tells the format
    return fs::path(out).replace_filename(name);
}

fs::path parts_path(const fs::path& out) { return fs::path(out) += ".journal.parts"; }

fs::path part_path(const fs::path& out, const std::string& run, int rank) {
    return parts_path(out) / fmt::format("{}-{:05}.part", run, rank);
}

std::string new_run_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

std::vector<fs::path> part_files(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
        if (entry->path().extension() == ".part") paths.push_back(entry->path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

fs::path finished_parts_path(const fs::path& out, const std::string& run) {
    const fs::path folder = parts_path(out);
    return fs::path(folder).replace_filename(fmt::format(".{}-{}", folder.filename().string(), run));
}

void remove_finished_parts(const fs::path& out) {
    const std::string start = finished_parts_path(out, "").filename().string();
    const fs::path folder = out.parent_path().empty() ? fs::path(".") : out.parent_path();
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
        if (entry->path().filename().string().starts_with(start)) fs::remove_all(entry->path(), none);
}

}  // namespace glint
