// Lays the planes of <TiffData> elements along the dimensions.
// SPDX-License-Identifier: MIT
#include "io/tiff/ome_planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace glint {
namespace {

/// The order of an image's planes: its dimensions, the fastest first, with their sizes and the steps between planes.
struct PlaneOrder {
    struct Dimension {
        char letter;
        std::int64_t size, step;
    };
    std::vector<Dimension> dimensions;

    PlaneOrder(const OmeMovie& ome, const OmeImage& image) {
        std::int64_t step = 1;
        for (const char letter : ome.order) {
            const auto [own, largest] = letter == 'T'   ? std::pair(image.times, ome.times)
                                        : letter == 'Z' ? std::pair(image.slices, ome.slices)
                                        : letter == 'C' ? std::pair(image.channels, ome.channels)
                                                        : std::pair(0.0, 0.0);
            if (own < 1) continue;
            dimensions.push_back({letter, std::int64_t(own), step});
            step *= std::int64_t(largest);
        }
    }
    std::int64_t planes() const {
        std::int64_t count = 1;
        for (const Dimension& one : dimensions) count *= one.size;
        return count;
    }
    /// Returns the number of the element's first plane, among the image's planes in their order; -1 if it is invalid.
    std::int64_t first(const OmeTiffData& data) const {
        std::int64_t number = 0, step = 1;
        for (const Dimension& one : dimensions) {
            const std::int64_t index = one.letter == 'T' ? data.t : one.letter == 'Z' ? data.z : data.c;
            if (index >= one.size) return -1;
            number += index * step;
            step *= one.size;
        }
        return number;
    }
    /// Returns the number of a plane along the movie's dimensions.
    std::int64_t plane(std::int64_t number) const {
        std::int64_t plane = 0;
        for (const Dimension& one : dimensions) {
            plane += number % one.size * one.step;
            number /= one.size;
        }
        return plane;
    }
};

class Placing {
  public:
    Placing(const OmeMovie& ome, const std::vector<std::int64_t>& counts)
        : ome_(ome),
          counts_(counts),
          next_(counts.size(), 0),
          left_(std::accumulate(counts.begin(), counts.end(), 0L)) {}

    OmePages place() {
        const std::vector<Axis> axes = ome_axes(ome_);
        if (axes.empty()) return {};
        const std::int64_t in_image = count_of(axes) / axes.front().size;
        for (std::size_t k = 0; k < ome_.images.size() && pages_.contradiction.empty(); ++k)
            place(ome_.images[k], std::int64_t(k) * in_image);
        std::sort(pages_.pages.begin(), pages_.pages.end(),
                  [](const OmePage& a, const OmePage& b) { return a.plane < b.plane; });
        if (pages_.contradiction.empty()) refuse_double_planes(), refuse_double_pages();
        return std::move(pages_);
    }

  private:
    void place(const OmeImage& image, std::int64_t first_plane) {
        const PlaneOrder order(ome_, image);
        static const std::vector<OmeTiffData> all(1);
        std::int64_t behind = 0;  // planes of the image that are already placed
        for (const OmeTiffData& data : image.placed.empty() ? all : image.placed) {
            const std::int64_t first = data.ifd < 0 ? behind : order.first(data);
            if (first < 0 || data.planes > order.planes() - first)
                return (void)(pages_.contradiction = "TiffData elements name planes beyond the sizes of the image");
            const std::int64_t planes = data.planes ? data.planes : order.planes() - first;
            place(data, planes, [&](std::int64_t k) { return first_plane + order.plane(first + k); });
            if (!pages_.contradiction.empty()) return;
            behind = first + planes;
        }
    }
    template <class PlaneOf>
    void place(const OmeTiffData& data, std::int64_t planes, PlaneOf plane_of) {
        const std::size_t file = data.file < 0 ? counts_.size() - 1 : std::size_t(data.file);
        const std::int64_t page = data.ifd < 0 ? next_[file] : data.ifd;
        next_[file] = page + planes;
        const std::int64_t there = std::clamp<std::int64_t>(counts_[file] - page, 0, planes);
        if (there > left_)
            return (void)(pages_.contradiction = "TiffData elements name more planes than there are pages");
        left_ -= there;
        for (std::int64_t k = 0; k < there; ++k) pages_.pages.push_back({plane_of(k), data.file, page + k});
    }
    void refuse_double_planes() {
        const auto twice = std::adjacent_find(pages_.pages.begin(), pages_.pages.end(),
                                              [](const OmePage& a, const OmePage& b) { return a.plane == b.plane; });
        if (twice != pages_.pages.end()) pages_.contradiction = "TiffData elements place a plane twice";
    }
    void refuse_double_pages() {
        std::vector<std::vector<bool>> used(counts_.size());
        for (std::size_t file = 0; file < used.size(); ++file) used[file].resize(std::size_t(counts_[file]));
        for (const OmePage& one : pages_.pages) {
            auto page = used[one.file < 0 ? used.size() - 1 : std::size_t(one.file)].begin() + one.page;
            if (*page)
                pages_.contradiction = fmt::format("TiffData elements say that page {} is two planes", one.page + 1);
            *page = true;
        }
    }

    const OmeMovie& ome_;
    const std::vector<std::int64_t>& counts_;
    std::vector<std::int64_t> next_;
    std::int64_t left_;
    OmePages pages_;
};

}  // namespace

std::vector<Axis> ome_axes(const OmeMovie& ome) {
    constexpr double most = 1e12;
    if (ome.images.empty() || !(ome.times * ome.slices * ome.channels * double(ome.images.size()) < most)) return {};
    std::vector<Axis> axes{{Dimension::position, std::int64_t(ome.images.size()), {}}};
    for (auto letter = ome.order.rbegin(); letter != ome.order.rend(); ++letter) {
        const auto add = [&](Dimension dimension, double size, std::vector<std::string> names) {
            if (size >= 1) axes.push_back({dimension, std::int64_t(size), std::move(names)});
        };
        if (*letter == 'T') add(Dimension::time, ome.times, {});
        if (*letter == 'Z') add(Dimension::z, ome.slices, {});
        if (*letter == 'C') add(Dimension::channel, ome.channels, ome.channel_names);
    }
    return axes.size() > 1 && count_of(axes) > 0 ? axes : std::vector<Axis>();
}

OmePages pages_of(const OmeMovie& ome, const std::vector<std::int64_t>& counts) { return Placing(ome, counts).place(); }

}  // namespace glint
