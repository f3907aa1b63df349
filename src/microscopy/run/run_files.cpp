// Names of a run's files.
// SPDX-License-Identifier: MIT
#include "run/run_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "glint/localization_io.hpp"
#include "glint/localize.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {

namespace fs = std::filesystem;

fs::path journal_path(const fs::path& out) { return fs::path(out) += ".journal"; }

fs::path partial_path(const fs::path& out) {
    std::string name = out.filename().string();
    // keeps the ending, which defines the format
    name.insert(name.size() - localization_ending(out).size(), ".partial");
    return fs::path(out).replace_filename(name);
}

fs::path parts_path(const fs::path& out) { return without_link(out) += ".journal.parts"; }

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

static bool is_of_a_run(const fs::path& file) { return file.extension() == ".part" || file.filename() == "owner"; }

bool holds_parts_alone(const fs::path& folder) {
    std::error_code failed;
    if (!fs::is_directory(fs::symlink_status(folder, failed))) return false;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (!is_of_a_run(entry->path()) || fs::is_directory(entry->symlink_status(failed))) return false;
    return !failed;
}

bool remove_parts_folder(const fs::path& folder) {
    std::vector<fs::path> ours = part_files(folder);
    ours.push_back(folder / "owner");
    for (const fs::path& file : ours) ::unlink(file.c_str());  // never a folder
    return ::rmdir(folder.c_str()) == 0;                       // never a link, a file, or a folder with other files
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
        if (const std::string name = entry->path().filename().string(); name.starts_with(start)) {
            const std::string run = name.substr(start.size());
            if (run.size() == new_run_name().size() && run.find_first_not_of("0123456789abcdef") == run.npos &&
                holds_parts_alone(entry->path()))
                remove_parts_folder(entry->path());
        }
}

}  // namespace glint
