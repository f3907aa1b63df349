// Reads localizations from one file and writes them to another: `locs_convert IN OUT [PIXEL_SIZE_NM]`. For tests.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"

int main(int count, char** arguments) {
    if (count < 3) return std::fprintf(stderr, "usage: locs_convert IN OUT [PIXEL_SIZE_NM]\n"), 2;
    const auto warn = [](const std::string& message) { std::fprintf(stderr, "warning: %s\n", message.c_str()); };
    try {
        const double pixel_size_nm = count > 3 ? std::atof(arguments[3]) : 0;
        glint::write_localizations(arguments[2], glint::read_localizations(arguments[1], warn, pixel_size_nm), warn);
    } catch (const glint::Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
    return 0;
}
