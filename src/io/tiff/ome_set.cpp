// Compares what OME metadata say with the files and frames that exist.
// SPDX-License-Identifier: MIT
#include "io/tiff/ome_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "glint/error.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

fs::path place_of(const fs::path& path) {
    std::error_code ignored;
    return fs::absolute(path, ignored).lexically_normal();
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    const auto end = names.begin() + std::ptrdiff_t(std::min(names.size(), most));
    const std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
    return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

/// The files of one set.
struct OmeSet {
    const OmePart& part;  ///< the file whose metadata are compared
    std::vector<const OmePart*> given;
    std::set<std::int64_t> channels;                     ///< of those that were given
    std::vector<std::string> beside, lost, of_channels;  ///< not given: there, not there, of other channels

    double frames() const {
        double sum = 0;
        for (const OmePart* one : given) sum += double(one->frames);
        return sum;
    }
    bool truncated() const {
        return std::any_of(given.begin(), given.end(), [](const OmePart* one) { return one->truncated; });
    }
};

class Parts {
  public:
    explicit Parts(const std::vector<OmePart>& parts) {
        for (const OmePart& part : parts) {
            by_place_[place_of(part.path)] = &part;
            if (!part.ome.uuid.empty()) by_uuid_[part.ome.uuid] = &part;
        }
    }
    /// The part that is `file` of the set of `of`, under whatever name; null when it was not given.
    const OmePart* find(const OmeFile& file, const OmePart& of) const {
        if (const auto found = by_place_.find(place_of(of.path.parent_path() / file.name)); found != by_place_.end())
            return found->second;
        const auto found = by_uuid_.find(file.uuid);
        return found == by_uuid_.end() ? nullptr : found->second;
    }

  private:
    std::map<fs::path, const OmePart*> by_place_;
    std::map<std::string, const OmePart*> by_uuid_;
};

OmeSet set_of(const OmePart& part, const Parts& parts) {
    OmeSet set{part, {}, {}, {}, {}, {}};
    std::vector<const OmeFile*> others;
    for (const OmeFile& file : part.ome.files) {
        const OmePart* given = parts.find(file, part);
        if (!given) {
            others.push_back(&file);
            continue;
        }
        set.given.push_back(given);
        set.channels.insert(file.channels.begin(), file.channels.end());
    }
    if (set.given.empty()) set.given = {&part}, set.channels = {-1};
    for (const OmeFile* file : others) {
        std::error_code ignored;
        const bool there = fs::is_regular_file(part.path.parent_path() / file->name, ignored);
        auto& names = !file->shares_a_channel_with(set.channels) ? set.of_channels : there ? set.beside : set.lost;
        names.push_back(file->name);
    }
    return set;
}

void warn_of_frames(const OmeSet& set, std::vector<std::string>& warnings) {
    const OmeMovie& ome = set.part.ome;
    const double channels = set.of_channels.empty() ? ome.channels : double(set.channels.size());
    const double said = ome.images * ome.times * ome.slices * channels;
    if (said == 0 || said == set.frames()) return;
    const std::string sizes =
        fmt::format("SizeT {:.0f}, SizeZ {:.0f}, SizeC {:.0f}", ome.times, ome.slices, ome.channels);
    warnings.push_back(fmt::format("{}: the OME metadata say {:.0f} frames ({}), {:.0f} are there",
                                   set.part.path.filename().string(), said, sizes, set.frames()));
}

void check(const OmeSet& set, std::vector<std::string>& warnings) {
    if (set.truncated()) return;  // frames are missing anyway, which is said already
    const std::string name = set.part.path.filename().string();
    if (!set.beside.empty())
        throw InputError(fmt::format(
            "{}: is one of {} files of an OME-TIFF set, and frames of its movie are in {}, which were not "
            "given: give all in their order, with --concat; to read it alone, put it into a folder of its own",
            set.part.path.string(), set.part.ome.files.size(), listed(set.beside)));
    if (!set.of_channels.empty())
        warnings.push_back(fmt::format("{}: only some channels of an OME-TIFF set; the others are in {}", name,
                                       listed(set.of_channels)));
    if (!set.lost.empty())
        warnings.push_back(
            fmt::format("{}: frames of its OME-TIFF set are missing: {} cannot be found beside it, and "
                        "frames behind a gap have too small numbers",
                        name, listed(set.lost)));
    if (set.lost.empty()) warn_of_frames(set, warnings);
}

}  // namespace

std::vector<std::string> check_ome_sets(const std::vector<OmePart>& files) {
    const Parts parts(files);
    std::set<const OmePart*> checked;
    std::vector<std::string> warnings;
    for (const OmePart& part : files) {
        if (part.ome.images == 0 || checked.contains(&part)) continue;
        const OmeSet set = set_of(part, parts);
        checked.insert(set.given.begin(), set.given.end());
        check(set, warnings);
    }
    return warnings;
}

}  // namespace glint
