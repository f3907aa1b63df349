// Finds the files of an OME-TIFF set, and puts their pages into the order of the frames.
// SPDX-License-Identifier: MIT
#include "io/tiff/ome_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "data/joined_movie.hpp"
#include "glint/error.hpp"
#include "io/movie_files.hpp"
#include "io/tiff/metadata.hpp"
#include "io/tiff/ome_planes.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    const auto end = names.begin() + std::ptrdiff_t(std::min(names.size(), most));
    const std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
    return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

/// A file that the metadata name.
struct Member {
    fs::path path;
    std::set<std::int64_t> channels;  ///< -1: of any channel
    bool there = false, given = false;
};

using Channels = std::set<std::int64_t>;

/// Returns the UUID in the file's own metadata; empty if it cannot be read or has none.
std::string uuid_of(const fs::path& path) {
    try {
        return ome_of(path).uuid;
    } catch (const InputError&) {
        return {};
    }
}

/// Returns the members in the order of OmeMovie::files, followed by `path` if the metadata do not name it.
std::vector<Member> members_of(const OmeMovie& ome, const fs::path& path, const std::vector<fs::path>& given) {
    std::map<fs::path, fs::path> given_places;
    for (const fs::path& one : given) given_places.emplace(real_place(one), one);
    std::vector<Member> members;
    std::error_code ignored;
    for (const OmeFile& file : ome.files) {
        const fs::path place = path.parent_path() / file.name;
        members.push_back({place, file.channels, fs::is_regular_file(place, ignored), false});
    }
    const auto is_path = [&](const Member& member) { return member.path.filename() == path.filename(); };
    if (std::none_of(members.begin(), members.end(), is_path)) members.push_back({path, {-1}, true, true});
    std::map<std::string, fs::path> by_uuid;
    for (std::size_t k = 0; k < ome.files.size(); ++k) {
        Member& member = members[k];
        if (!member.there && !ome.files[k].uuid.empty()) {
            if (by_uuid.empty())
                for (const fs::path& one : given) by_uuid.emplace(uuid_of(one), one);
            const auto found = by_uuid.find(ome.files[k].uuid);
            if (found != by_uuid.end()) member.path = found->second, member.there = true;
        }
        member.given = member.there && given_places.contains(real_place(member.path));
    }
    return members;
}

bool share(const Channels& some, const Channels& others) { return OmeFile{{}, {}, some}.shares_a_channel_with(others); }

/// Returns the channel that the user named; nullopt if there is no such number or name, which chosen_planes()
/// reports.
std::optional<std::int64_t> channel_of(const OmeMovie& ome, const MovieChoice& choice) {
    if (!choice.channel) return std::nullopt;
    const auto& names = ome.channel_names;
    if (const auto name = std::find(names.begin(), names.end(), *choice.channel); name != names.end())
        return name - names.begin();
    std::int64_t number = 0;
    const std::string& text = *choice.channel;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Returns the chosen channel, else all channels in the given files.
Channels wanted_channels(const OmeMovie& ome, const std::vector<Member>& members, const MovieChoice& choice) {
    if (const auto one = channel_of(ome, choice)) return {*one};
    Channels wanted;
    for (const Member& member : members)
        if (member.given) wanted.insert(member.channels.begin(), member.channels.end());
    return wanted.empty() ? Channels{-1} : wanted;
}

/// The files of a set that are read, while they are opened.
struct OpenedSet {
    MovieParts parts;
    /// number of pages of each member, and the number of its first page among all pages
    std::vector<std::int64_t> counts, starts;
    bool truncated = false;
};

OpenedSet open_members(const std::vector<Member>& members, const Channels& wanted, const fs::path& path,
                       TiffMovieFile& file, ScanState* looks) {
    OpenedSet set{{}, {}, {}, false};
    std::int64_t pages = 0;
    for (const Member& member : members) {
        set.starts.push_back(pages);
        set.counts.push_back(0);
        if (!member.there || !share(member.channels, wanted)) continue;
        const bool is_first = file.movie && member.path.filename() == path.filename();
        TiffMovieFile opened = is_first ? std::move(file) : open_tiff_movie(member.path, looks);
        set.truncated |= opened.truncated;
        set.counts.back() = opened.movie->info().frames;
        pages += set.counts.back();
        set.parts.add(std::move(opened.movie), [at = member.path] { return open_tiff_movie(at).movie; });
    }
    return set;
}

/// Reports missing files, and returns true if there are any. Throws if the user gave only one file, because they may
/// not know which part of the movie it is.
bool tell_missing(const fs::path& path, const std::vector<Member>& members, const Channels& wanted, bool chosen,
                  std::vector<std::string>& warnings) {
    std::vector<std::string> lost, others;
    for (const Member& member : members) {
        const bool is_wanted = share(member.channels, wanted);
        if (is_wanted && !member.there) lost.push_back(member.path.filename().string());
        if (!is_wanted) others.push_back(member.path.filename().string());
    }
    const std::string name = path.filename().string();
    if (!others.empty() && !chosen)
        warnings.push_back(
            fmt::format("{}: only some channels of an OME-TIFF set; the others are in {}", name, listed(others)));
    if (lost.empty()) return false;
    if (std::count_if(members.begin(), members.end(), [](const Member& member) { return member.given; }) < 2)
        throw InputError(fmt::format(
            "{}: is one of {} files of an OME-TIFF set, and frames of its movie are in {}, which cannot be "
            "found beside "
            "it: copy the files there; to read several files without those, give them together: `concat`; to "
            "read one, save its "
            "pages as a TIFF without OME metadata",
            path.string(), members.size(), listed(lost)));
    warnings.push_back(
        fmt::format("{}: frames of its OME-TIFF set are missing: {} cannot be found beside it, and frames behind a gap "
                    "have too small numbers",
                    name, listed(lost)));
    return true;
}

/// Returns the pages of the chosen planes, by frame. Frames after a gap are left out if a file is truncated there.
std::vector<std::int64_t> pages_of_frames(const OmePages& placed, const OpenedSet& set, const Planes& planes,
                                          const std::string& name, std::vector<std::string>& warnings) {
    std::vector<std::int64_t> pages;
    for (const OmePage& one : placed.pages) {
        const std::int64_t behind = one.plane - planes.first, frame = behind / planes.step;
        if (behind < 0 || behind % planes.step != 0 || frame >= planes.frames) continue;
        if (set.truncated && frame != std::int64_t(pages.size())) {
            warnings.push_back(fmt::format("{}: frames behind frame {} are left out, as they would get wrong numbers",
                                           name, pages.size()));
            break;
        }
        const std::size_t file = one.file < 0 ? set.counts.size() - 1 : std::size_t(one.file);
        pages.push_back(set.starts[file] + one.page);
    }
    return pages;
}

/// Returns the planes that are the movie. If the given files belong to a single channel, selects it without a choice.
Planes planes_of(const OmeMovie& ome, const Channels& wanted, MovieChoice choice, const std::string& name) {
    std::vector<Axis> axes = ome_axes(ome);
    const bool one_channel = wanted.size() == 1 && *wanted.begin() >= 0 && ome.channels > 1;
    if (one_channel && !choice.channel) choice.channel = fmt::format("{}", *wanted.begin());
    if (!choice.channel) axes = several(std::move(axes));
    Planes planes{0, 1, count_of(ome_axes(ome)), {}};
    if (axes.empty())
        require_single_planes(choice, name);
    else
        planes = chosen_planes(axes, choice, name);
    return planes;
}

bool is_in_order(const OmePages& placed) {
    for (const OmePage& one : placed.pages)
        if (one.plane != one.page) return false;
    return true;
}

OmePages checked(OmePages placed, const OmeMovie& ome, const std::string& path) {
    if (placed.contradiction.empty()) return placed;
    throw InputError(
        fmt::format("{}: the OME metadata contradict themselves ({}; SizeT {:.0f}, SizeZ {:.0f}, SizeC {:.0f}): which "
                    "page is which frame is "
                    "not known. Save the frames as a TIFF without OME metadata, or as one that Bio-Formats writes",
                    path, placed.contradiction, ome.times, ome.slices, ome.channels));
}

}  // namespace

OmeMovie ome_of(const fs::path& path) {
    const InputFile file(path);
    return read_tiff_metadata(TiffHandle(file), path).ome;
}

std::string other_number_of_frames(const OmeMovie& ome, const std::string& name, std::int64_t frames) {
    double said = 0;
    for (const OmeImage& image : ome.images) said += image.times * image.slices * image.channels;
    if (said == 0 || said == double(frames)) return {};
    return fmt::format(
        "{}: the OME metadata say {:.0f} frames (SizeT {:.0f}, SizeZ {:.0f}, SizeC {:.0f}), {} are there", name, said,
        ome.times, ome.slices, ome.channels, frames);
}

void require_one_ome_file(const OmeMovie& ome, const fs::path& path) {
    if (ome.files.size() < 2) return;
    throw InputError(
        fmt::format("{}: is one of {} files of an OME-TIFF set, of which {} is the first: give one file with all",
                    path.string(), ome.files.size(), ome.files.front().name));
}

bool needs_ome_set(const TiffMovieFile& file, const fs::path& path) {
    const OmeMovie& ome = file.ome;
    if (ome_axes(ome).empty()) return false;
    const std::string name = path.filename().string();
    if (std::any_of(ome.files.begin(), ome.files.end(), [&](const OmeFile& one) { return one.name != name; }))
        return true;
    std::vector<std::int64_t> counts(ome.files.size() + 1, file.movie->info().frames);
    const OmePages placed = pages_of(ome, counts);
    // With a single channel, z and position, the pages are the frames, even if the metadata are wrong.
    return placed.contradiction.empty() ? !is_in_order(placed) : !file.axes.empty();
}

std::unique_ptr<Movie> open_ome_set(const fs::path& path, TiffMovieFile file, const std::vector<fs::path>& given,
                                    const MovieChoice& choice, ScanState* looks) {
    const OmeMovie ome = std::move(file.ome);
    const std::vector<Member> members = members_of(ome, path, given);
    const Channels wanted = wanted_channels(ome, members, choice);
    const Planes planes = planes_of(ome, wanted, choice, path.string());
    std::vector<std::string> warnings;
    const bool lost = tell_missing(path, members, wanted, choice.channel.has_value(), warnings);
    OpenedSet set = open_members(members, wanted, path, file, looks);
    const OmePages placed = checked(pages_of(ome, set.counts), ome, path.string());
    const std::string name = path.filename().string();
    std::vector<std::int64_t> pages = pages_of_frames(placed, set, planes, name, warnings);
    if (!set.truncated && !lost && std::int64_t(pages.size()) != planes.frames)
        warnings.push_back(
            fmt::format("{}: the OME metadata say {} frames, {} are there", name, planes.frames, pages.size()));
    return picked(concatenate(std::move(set.parts)), std::move(pages), planes.described, std::move(warnings));
}

std::vector<fs::path> ome_set_beside(const fs::path& path) {
    std::vector<fs::path> beside;
    try {
        const OmeMovie ome = ome_of(path);
        if (ome_axes(ome).empty() || ome.files.size() < 2) return {};
        const std::vector<Member> members = members_of(ome, path, {path});
        const Channels wanted = wanted_channels(ome, members, {});
        for (const Member& member : members)
            if (!member.given && member.there && share(member.channels, wanted)) beside.push_back(member.path);
    } catch (const InputError&) {  // opening the file will report the reason
        return {};
    }
    return beside;
}

}  // namespace glint
