// Microscope formats that glint recognises by their first bytes but does not read, with advice on what to do instead.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"
#include "io/mat_arrays.hpp"
#include "io/movie_readers.hpp"

namespace glint {
namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
    std::string_view magic;  ///< at the beginning of the file
    const char* name;
    const char* way_out;
};

constexpr const char* by_fiji = "save it as TIFF in Fiji (File > Import > Bio-Formats)";
constexpr const char* oif =
    "the description of an OIF movie of Olympus FluoView, whose frames are TIFF files in the folder beside it";
constexpr ForeignFormat foreign_formats[] = {
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv,
     "a compound file, as OIB of Olympus FluoView and ZVI of Zeiss AxioVision are", by_fiji},
    {"[\0F\0i\0l\0e\0"sv, oif, by_fiji},
    {"\xff\xfe[\0F\0i\0l\0e\0"sv, oif, by_fiji},
    {"\xff\xfe[\0P\0r\0o\0f\0i\0l\0e\0S\0a\0v\0e\0"sv, oif, by_fiji},
    {"OLYMPUSRAWFORMAT"sv, "an OIR movie of Olympus FluoView", by_fiji},
    {"PK\3\4"sv, "a ZIP archive, as NumPy's .npz is",
     "unpack it; of an .npz, save the array by numpy.save(file, movie)"},
};

/// Tables of localizations, by their first bytes.
constexpr std::string_view foreign_tables[] = {"M425"sv, "# <localizations"sv, "Index\tFirst Frame\t"sv,
                                               "Channel Name\tX\tY\t"sv};

}  // namespace

void refuse_foreign(const InputFile& file) {
    for (const std::string_view beginning : foreign_tables)
        if (begins_with(file, beginning)) refuse_table(file.name());
    refuse_mat4(file);
    for (const ForeignFormat& format : foreign_formats)
        if (begins_with(file, format.magic))
            throw InputError(
                fmt::format("{}: is {}, which glint does not read: {}", file.name(), format.name, format.way_out));
    for (const auto& [ending, name] :
         {std::pair(".oib", "an OIB movie of Olympus FluoView"), std::pair(".oif", oif),
          std::pair(".oir", "an OIR movie of Olympus FluoView"), std::pair(".zvi", "a ZVI movie of Zeiss AxioVision")})
        if (in_lower_case(std::filesystem::path(file.name()).extension().string()) == ending)
            throw InputError(
                fmt::format("{}: is {} by its name, which glint does not read, and does not begin like one: copy it "
                            "again, and {}",
                            file.name(), name, by_fiji));
}

void refuse_spooled(const std::filesystem::path& path) {
    const auto is_spooled = [](const std::string& name) { return name.ends_with("spool.dat"); };
    std::error_code failed;
    bool found = is_spooled(path.filename().string());
    if (std::filesystem::is_directory(path, failed))
        for (std::filesystem::directory_iterator entry(path, failed), end; !failed && !found && entry != end;
             entry.increment(failed))
            found = is_spooled(entry->path().filename().string());
    if (!found) return;
    throw InputError(fmt::format(
        "{}: holds frames that Andor Solis spooled (...spool.dat), and acquisitionmetadata.ini, which says their size, "
        "is not beside them: copy it from where the movie was recorded, or open the folder in Solis and save it as "
        "TIFF",
        path.string()));
}

void refuse_table(const std::filesystem::path& path) {
    throw InputError(fmt::format(
        "{}: is a table, and no movie: tables of localizations are for `glint render`, `glint drift` and others",
        path.string()));
}

}  // namespace glint
