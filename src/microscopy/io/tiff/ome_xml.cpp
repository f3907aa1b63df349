// Walks through the elements of OME-XML.
// SPDX-License-Identifier: MIT
#include "io/tiff/ome_xml.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "io/metadata_values.hpp"
#include "io/xml_text.hpp"

namespace glint {
namespace {

/// Returns a whole number of 1 or more, or `otherwise`.
double count_in(const pugi::xml_node& tag, const char* key, double otherwise) {
    const std::string_view text = attribute(tag, key);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size() && value == std::floor(value);
    return whole && value >= 1 && value < 1e15 ? value : otherwise;
}

/// Returns a whole number of 0 or more; `otherwise` if there is none.
std::int64_t index_in(const pugi::xml_node& tag, const char* key, std::int64_t otherwise) {
    const std::string_view text = attribute(tag, key);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && value >= 0 && value < std::int64_t(1) << 40 ? value : otherwise;
}

/// Returns ExposureTime of a <Plane>: in seconds unless another unit is given.
std::optional<double> exposure_ms_of_plane(const pugi::xml_node& tag) {
    const std::string_view text = attribute(tag, "ExposureTime"), unit = attribute(tag, "ExposureTimeUnit");
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e9) return std::nullopt;
    static const std::map<std::string_view, double> units = {{"", 1e3},           {"s", 1e3},          {"ms", 1},
                                                             {"\xc2\xb5s", 1e-3}, {"\xce\xbcs", 1e-3}, {"us", 1e-3},
                                                             {"ns", 1e-6},        {"min", 6e4}};
    const auto ms = units.find(unit);
    return ms == units.end() ? std::nullopt : std::optional(std::round(value * ms->second * 1e9) / 1e9);
}

std::optional<double> ome_size_nm(const pugi::xml_node& pixels, const char* size, const char* unit_key) {
    const auto value = number_of<double>(attribute(pixels, size));
    const std::string_view unit = attribute(pixels, unit_key);
    const auto nm = nm_of_unit(unit.empty() ? "um" : unit);  // the schema's default
    if (!value || !nm) return std::nullopt;
    return *value * *nm;
}

/// One <Image>, while it is read.
struct Image {
    OmeMovie movie;
    std::vector<OmeTiffData> placed;
    std::map<std::string, std::size_t> file_of_name;
    bool names_this_file = false;

    /// The channel whose planes a <TiffData> places.
    std::int64_t channel_of(const pugi::xml_node& tiff_data) const {
        const double all = movie.times * movie.slices * movie.channels;
        const bool one = !attribute(tiff_data, "IFD").empty();
        const double planes = count_in(tiff_data, "PlaneCount", one ? 1 : all);
        const bool of_one_channel = planes <= 1 || (movie.order.ends_with('C') && planes <= movie.times * movie.slices);
        return of_one_channel ? std::int64_t(count_in(tiff_data, "FirstC", 0)) : -1;
    }
    /// Places an element. Without any position it follows the previous element. With a position it begins at the first
    /// page, unless it states another page.
    void place(const pugi::xml_node& tiff_data) {
        const auto first = [&](const char* key) { return index_in(tiff_data, key, -1); };
        OmeTiffData data{-1, first("IFD"), first("FirstT"), first("FirstZ"), first("FirstC"), 0};
        data.planes = index_in(tiff_data, "PlaneCount", data.ifd >= 0 ? 1 : 0);
        if (data.ifd < 0 && std::max({data.t, data.z, data.c}) >= 0) data.ifd = 0;
        for (std::int64_t* index : {&data.t, &data.z, &data.c}) *index = std::max<std::int64_t>(*index, 0);
        placed.push_back(data);
    }
    std::size_t add(const OmeFile& file) {
        const auto [entry, is_new] = file_of_name.emplace(file.name, movie.files.size());
        if (is_new) movie.files.push_back({file.name, file.uuid, {}});
        movie.files[entry->second].channels.insert(file.channels.begin(), file.channels.end());
        return entry->second;
    }
};

class OmeXmlReader {
  public:
    OmeXmlReader(const std::string& file_name, std::string uuid) : file_name_(file_name), uuid_(std::move(uuid)) {}

    OmeMovie read(std::string_view xml) {
        for_each_element(xml, file_name_, [&](const pugi::xml_node& element) { take(element); });
        finish_image();
        if (all_.movie.images.empty() && images_ == 1) join_renamed();
        all_.movie.uuid = uuid_;
        name_this_file();
        return std::move(all_.movie);
    }

  private:
    void take(const pugi::xml_node& element) {
        const std::string_view name = local_name(element);
        if (name == "OME" && uuid_.empty()) uuid_ = attribute(element, "UUID");
        if (name == "BinaryOnly") all_.movie.metadata_file = attribute(element, "MetadataFile");
        if (name == "Pixels") begin_image(element);
        if (images_ == 0) return;
        if (name == "Channel") image_.movie.channel_names.emplace_back(attribute(element, "Name"));
        if (name == "TiffData") {
            channel_ = image_.channel_of(element);
            image_.place(element);
        }
        if (name == "UUID") take_file(element);
        if (name == "Plane") take_exposure(image_.movie, exposure_ms_of_plane(element));
    }

    static void take_exposure(OmeMovie& movie, std::optional<double> ms) {
        if (!ms) return;
        if (!movie.exposure_ms) movie.exposure_ms = ms;
        movie.exposures_differ |= std::abs(*ms - *movie.exposure_ms) > 0.001 * *ms;
    }

    void begin_image(const pugi::xml_node& tag) {
        finish_image();
        ++images_;
        image_ = {};
        image_.movie.order = attribute(tag, "DimensionOrder");
        const bool said = !attribute(tag, "SizeT").empty() || !attribute(tag, "SizeZ").empty();
        image_.movie.times = count_in(tag, "SizeT", said);
        image_.movie.slices = count_in(tag, "SizeZ", said);
        image_.movie.channels = count_in(tag, "SizeC", said);
        image_.movie.width_px = std::int64_t(count_in(tag, "SizeX", 0));
        image_.movie.height_px = std::int64_t(count_in(tag, "SizeY", 0));
        image_.movie.width_nm = ome_size_nm(tag, "PhysicalSizeX", "PhysicalSizeXUnit");
        image_.movie.height_nm = ome_size_nm(tag, "PhysicalSizeY", "PhysicalSizeYUnit");
    }

    void take_file(const pugi::xml_node& element) {
        const std::string name(attribute(element, "FileName"));
        const std::string_view uuid = element.child_value();
        if (name.empty()) return;
        const bool this_file = name == file_name_ || (!uuid_.empty() && uuid == uuid_);
        image_.names_this_file |= this_file;
        const std::size_t file = image_.add({this_file ? file_name_ : name, std::string(uuid), {channel_}});
        if (!image_.placed.empty()) image_.placed.back().file = std::int64_t(file);
    }

    void finish_image() {
        if (images_ == 0) return;
        if (image_.names_this_file || image_.movie.files.empty()) return join(image_);
        if (images_ == 1) other_ = std::move(image_);
    }

    /// Makes elements without a file name refer to this file, which other elements may name.
    void name_this_file() {
        const auto named = all_.file_of_name.find(file_name_);
        if (named == all_.file_of_name.end()) return;
        for (OmeImage& image : all_.movie.images)
            for (OmeTiffData& data : image.placed)
                if (data.file < 0) data.file = std::int64_t(named->second);
    }

    /// If the only image names other files, this file has been renamed.
    void join_renamed() {
        if (other_.movie.files.size() == 1) {
            other_.movie.files.clear();
            for (OmeTiffData& data : other_.placed) data.file = -1;
        }
        join(other_);
    }

    /// Several images in one file are one sequence of pages, as its channels are.
    void join(Image image) {
        std::set<std::int64_t> channels;
        for (const OmeTiffData& data : image.placed) channels.insert(data.c);
        const bool has_all = !channels.empty() && *channels.rbegin() + 1 == std::int64_t(channels.size());
        if (image.movie.channels >= 1 && double(channels.size()) > image.movie.channels && has_all) {
            image.movie.channels = double(channels.size());
            all_.movie.has_unsaid_channels = true;
        }
        OmeMovie& to = all_.movie;
        std::vector<std::int64_t> files;
        for (const OmeFile& file : image.movie.files) files.push_back(std::int64_t(all_.add(file)));
        OmeImage one{image.movie.times, image.movie.slices, image.movie.channels, image.placed};
        for (OmeTiffData& data : one.placed)
            if (data.file >= 0) data.file = files[std::size_t(data.file)];
        if (to.images.empty()) {
            to.order = image.movie.order;
            to.width_px = image.movie.width_px, to.height_px = image.movie.height_px;
            to.width_nm = image.movie.width_nm, to.height_nm = image.movie.height_nm;
            to.channel_names = image.movie.channel_names;
        }
        take_exposure(to, image.movie.exposure_ms);
        to.exposures_differ |= image.movie.exposures_differ;
        to.times = std::max(to.times, one.times);
        to.slices = std::max(to.slices, one.slices);
        to.channels = std::max(to.channels, one.channels);
        to.images.push_back(std::move(one));
    }

    const std::string& file_name_;
    std::string uuid_;
    std::size_t images_ = 0;
    std::int64_t channel_ = -1;
    Image image_, other_, all_;
};

}  // namespace

bool OmeFile::shares_a_channel_with(const std::set<std::int64_t>& others) const {
    return channels.contains(-1) || others.contains(-1) ||
           std::any_of(channels.begin(), channels.end(),
                       [&](std::int64_t channel) { return others.contains(channel); });
}

bool OmeMovie::holds_one_channel(const std::string& file_name) const {
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const OmeFile& one) { return one.name == file_name; });
    return file != files.end() && file->channels.size() == 1 && !file->channels.contains(-1);
}

OmeMovie parse_ome_xml(std::string_view xml, const std::string& file_name, std::string uuid) {
    return OmeXmlReader(file_name, std::move(uuid)).read(xml);
}

}  // namespace glint
