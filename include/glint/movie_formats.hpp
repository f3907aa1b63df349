// The formats of movies that open_movie() reads.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

/// The description of a movie format for users. docs/reference/formats.md has the details.
struct MovieFormatText {
    const char* name;      ///< "SIF"; for folders "folders of PNG"
    const char* program;   ///< the program that writes it: "Andor Solis"; empty for a format of many programs
    const char* endings;   ///< of the names of its files, in lower case: ".fits .fit"; empty for folders
    const char* not_read;  ///< unsupported variants: "complex and logical arrays; -v4"
};

/// Returns the formats in the order in which they are tried: files, then folders.
const std::vector<MovieFormatText>& movie_formats();

/// Returns the names of the formats with those of their programs: "TIFF, ND2 (Nikon NIS-Elements), ...".
std::string names_of_movie_formats();

/// Returns the endings of movies' names, in lower case and without repetitions: ".tif", ".tiff", ... Files with other
/// endings may also be movies, since all formats except DAX are recognised by their content.
std::vector<std::string> movie_endings();

}  // namespace glint
