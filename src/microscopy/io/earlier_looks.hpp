// What earlier scans of a movie that is still being written have found, so that the next scan reads only new data.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/joined_movie.hpp"
#include "glint/movie.hpp"
#include "glint/movie_choice.hpp"
#include "io/tiff/index.hpp"

namespace glint {

/// A file of a folder of TIFFs that was opened to examine its contents.
struct FolderFile {
    std::uintmax_t bytes = 0;  ///< its size then
    int looks = 0;             ///< number of scans that found this size; 0: it was not opened
    std::int64_t frames = 0;
    bool truncated = false;
    std::string broken = {};  ///< why the file has no complete frame
    std::string unlike = {};  ///< why its frames cannot follow the first file's
    std::vector<std::string> warnings = {};
    Contradictions contradictions = {};  ///< with the first file's metadata
};

/// A file of a folder, at its position in the order of names.
struct ListedFile {
    std::filesystem::path path;
    std::optional<std::filesystem::file_time_type> written =
        {};  ///< set when other files followed it: it is then complete
};

/// The scan state of formats that grow, filled and used by their readers. Results of one scan count only after the
/// next scan has confirmed them.
struct ScanState {
    std::map<std::filesystem::path, TiffProgress> tiffs;
    std::map<std::filesystem::path, FolderFile> folder_files;
    std::vector<ListedFile> listed;  ///< the folder's files
    std::filesystem::path unlisted;  ///< a listed file that a later scan found elsewhere or rewritten
    bool compares_all = false;       ///< this scan compares all files

    /// Returns why the movie cannot continue after the frames of the last scan: a page or file differs from the first.
    /// Empty if it can continue.
    std::string unlike() const {
        for (const auto& [path, tiff] : tiffs)
            if (!tiff.unlike.empty()) return tiff.unlike;
        for (const auto& [path, file] : folder_files)
            if (!file.unlike.empty()) return file.unlike;
        return {};
    }
    /// Makes the next scan read everything and compare it with the earlier results.
    void read_all_next() {
        for (auto& [path, tiff] : tiffs) tiff.from_first = true;
        folder_files.clear(), compares_all = true;
    }
};

/// Opens a joined movie for a scan of a growing movie. Each file is opened once per scan, by one thread. Null `looks`:
/// no earlier scan.
std::unique_ptr<Movie> open_joined_movie(const std::vector<std::filesystem::path>& paths, const MovieChoice& choice,
                                         ScanState* looks);

}  // namespace glint
