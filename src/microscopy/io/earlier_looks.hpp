// What looks at a movie that is still being written have found, so that the next one reads only what is new.
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

/// A file of a folder of TIFFs that was opened to see what it holds.
struct FolderFile {
    std::uintmax_t bytes = 0;  ///< its size then
    int looks = 0;             ///< that found this size; 0: it was not opened
    std::int64_t frames = 0;
    bool truncated = false;
    std::string broken = {};  ///< why it has no frame that is whole
    std::string unlike = {};  ///< why its frames cannot follow the first file's
    std::vector<std::string> warnings = {};
    Contradictions contradictions = {};  ///< with the first file's metadata
};

/// A file of a folder, at its place among the others.
struct ListedFile {
    std::filesystem::path path;
    std::optional<std::filesystem::file_time_type> written =
        {};  ///< when others had come behind it: then it is complete
};

/// The scan state of formats that grow, filled and used by their readers. Results of one scan count only after the
/// next scan has confirmed them.
struct EarlierLooks {
    std::map<std::filesystem::path, TiffProgress> tiffs;
    std::map<std::filesystem::path, FolderFile> folder_files;
    std::vector<ListedFile> listed;  ///< the folder's files
    std::filesystem::path unlisted;  ///< a listed file that another scan found elsewhere, or rewritten
    bool compares_all = false;       ///< this look compares all of them

    /// Why the movie cannot continue after the frames of the last scan: a page or file that differs from the first;
    /// else empty.
    std::string unlike() const {
        for (const auto& [path, tiff] : tiffs)
            if (!tiff.unlike.empty()) return tiff.unlike;
        for (const auto& [path, file] : folder_files)
            if (!file.unlike.empty()) return file.unlike;
        return {};
    }
    /// The next look reads everything, and compares it with what was known.
    void read_all_next() {
        for (auto& [path, tiff] : tiffs) tiff.from_first = true;
        folder_files.clear(), compares_all = true;
    }
};

/// open_joined_movie() for a scan of a growing movie: each file is opened once per scan, by one thread. Null: no
/// earlier scan.
std::unique_ptr<Movie> open_joined_movie(const std::vector<std::filesystem::path>& paths, const MovieChoice& choice,
                                         EarlierLooks* looks);

}  // namespace glint
