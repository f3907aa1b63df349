// The formats of movies that open_movie() reads.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// What people need to know of a format. docs/reference/formats.md has the details.
struct MovieFormatText {
    const char* name;      ///< "SIF"; of folders "folders of PNG"
    const char* program;   ///< that writes it: "Andor Solis"; empty for a format of many programs
    const char* endings;   ///< of its files' names, in lower case: ".fits .fit"; empty for folders
    const char* not_read;  ///< "complex and logical arrays; -v4"
};

/// Returns the formats in the order in which they are tried: files, then folders.
const std::vector<MovieFormatText>& movie_formats();

/// Returns their names with those of the programs: "TIFF, ND2 (Nikon NIS-Elements), ...".
std::string names_of_movie_formats();

/// Returns the endings of movies' names, in lower case and each once: ".tif", ".tiff", ... Other files may be
/// movies, too, since all formats but DAX are recognised by their content.
std::vector<std::string> movie_endings();

}  // namespace glint
