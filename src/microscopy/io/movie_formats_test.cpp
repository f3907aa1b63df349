// The table of formats: unique, complete, and consistent with the documentation.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "glint/movie_formats.hpp"

using namespace glint;

namespace {

/// Returns a document's text without formatting.
std::string text_of(const char* name) {
    std::ifstream file(std::filesystem::path(GLINT_SOURCE_DIR) / name);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::erase(text, '`');
    return text;
}

}  // namespace

TEST(MovieFormats, are_named_once_and_say_what_is_not_read) {
    std::set<std::string> names;
    for (const MovieFormatText& format : movie_formats()) {
        EXPECT_TRUE(names.insert(format.name).second) << format.name;
        EXPECT_NE(std::string(format.not_read), "") << format.name;
    }
    const std::vector<std::string> endings = movie_endings();
    EXPECT_EQ(std::set<std::string>(endings.begin(), endings.end()).size(), endings.size());
    for (const char* ending : {".tif", ".nd2", ".fit", ".sif", ".lif", ".dcimg", ".png", ".raw"})
        EXPECT_NE(std::find(endings.begin(), endings.end(), ending), endings.end()) << ending;
    EXPECT_NE(names_of_movie_formats().find("TIFF (ImageJ"), std::string::npos);
}

TEST(MovieFormats, are_those_of_the_documents) {
    const std::string formats = text_of("docs/reference/formats.md"), features = text_of("docs/reference/features.md");
    for (const MovieFormatText& format : movie_formats()) {
        EXPECT_NE(formats.find(format.not_read), std::string::npos) << format.name << ": " << format.not_read;
        EXPECT_NE(features.find(format.name), std::string::npos) << "features.md lacks " << format.name;
    }
}
