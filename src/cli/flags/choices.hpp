// What may follow an option or stand as an argument, for completion by the shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace glint::cli {

/// Both lists empty: nothing is known, unless `folders`.
struct Choices {
    std::vector<std::string> words;    ///< "auto", "cpu", "gpu"
    std::vector<std::string> endings;  ///< of names of files: ".tif"; folders may lead to them
    bool folders = false;              ///< folders alone
};

inline const std::vector<std::string> roi_endings{".npy", ".h5", ".hdf5", ".tif", ".tiff"};
inline const std::vector<std::string> toml_endings{".toml"};
inline const std::vector<std::string> camera_endings{".toml", ".hdf5", ".h5", ".mat", ".yaml"};

/// Notes what the shell may offer. A value that is none of these stays possible: what is wrong is for the command to say.
CLI::Option* offer_words(CLI::Option* option, const std::vector<std::string>& words);
CLI::Option* offer_files(CLI::Option* option, const std::vector<std::string>& endings);
CLI::Option* offer_folders(CLI::Option* option);

/// What was noted, or the words that CLI::IsMember demands.
Choices choices_of(CLI::Option& option);

}  // namespace glint::cli
