// Packs maps and tables, and validates unpacked data.
// SPDX-License-Identifier: MIT
#include "warm_worker/camera_setup.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "glint/error.hpp"
#include "warm_worker/packed.hpp"

namespace glint::warm_worker {
namespace {

template <class Maps, class Visit>
void for_maps(Maps& maps, const Visit& visit) {
    visit(maps.offset), visit(maps.factor), visit(maps.variance), visit(maps.qe), visit(maps.masked);
}

bool are_sound(const CameraView::Maps& maps) {
    const std::size_t pixels = maps.offset.size();
    const auto covers = [&](const std::vector<float>& map) { return map.size() == pixels; };
    return covers(maps.factor) && (maps.variance.empty() || covers(maps.variance)) &&
           (maps.qe.empty() || (covers(maps.qe) && covers(maps.variance))) &&
           std::all_of(maps.masked.begin(), maps.masked.end(), [&](const CameraView::MaskedPixel& masked) {
               return masked.at < pixels && masked.count <= masked.from.size() &&
                      std::all_of(masked.from.begin(), masked.from.end(), [&](auto k) { return k < pixels; });
           });
}

/// Returns null if the packed data are not the maps of such a camera.
std::shared_ptr<const CameraView::Maps> take_maps(const CameraSetup& setup, Unpacker& unpacker) {
    CameraView::Maps all;
    for_maps(all, [&](auto& map) { unpacker.take(map); });
    if (!unpacker.good() || !are_sound(all) || !cover(all, setup)) return {};
    return std::make_shared<const CameraView::Maps>(std::move(all));
}

/// Returns null if the packed data are not a table.
std::shared_ptr<const PsfTable> take_table(Unpacker& unpacker) try {
    std::vector<PsfTable::Shape> shape;
    std::vector<PsfTable::Scale> scale;
    std::vector<PsfField> field;
    std::vector<float> values;
    unpacker.take(shape), unpacker.take(scale), unpacker.take(field), unpacker.take(values);
    if (!unpacker.good() || shape.size() != 1 || scale.size() != 1 || field.size() != 1) return {};
    return std::make_shared<const PsfTable>(shape[0], std::move(values), scale[0], field[0]);
} catch (const OptionError&) {
    return {};
}

}  // namespace

CameraSetup setup_of(const CameraView& camera) {
    CameraSetup setup;
    setup.width = camera.width(), setup.height = camera.height(), setup.excess_noise = camera.excess_noise();
    setup.pixel =
        camera.uniform() ? camera.pixel(0) : CameraView::Pixel{0, 1, camera.variance_scalar(), camera.qe_scalar()};
    setup.has_maps = !camera.uniform();
    return setup;
}

std::size_t num_bytes(const LargeParts& parts) {
    std::size_t bytes = 0;
    if (parts.maps) for_maps(*parts.maps, [&](const auto& map) { bytes += packed_bytes(map.size() * sizeof map[0]); });
    if (parts.table)
        bytes += packed_bytes(sizeof(PsfTable::Shape)) + packed_bytes(sizeof(PsfTable::Scale)) +
                 packed_bytes(sizeof(PsfField)) + packed_bytes(parts.table->values().size_bytes());
    return bytes;
}

void pack(const LargeParts& parts, std::span<std::byte> to) {
    Packer packer(to);
    if (parts.maps) for_maps(*parts.maps, [&](const auto& map) { packer.add(map); });
    if (!parts.table) return;
    packer.add(std::vector{parts.table->shape()});
    packer.add(std::vector{parts.table->scale()});
    packer.add(std::vector{parts.table->field()});
    packer.add(parts.table->values());
}

bool is_sound(const CameraSetup& setup) {
    constexpr int largest = 1 << 20;
    return setup.width >= 1 && setup.width <= largest && setup.height >= 1 && setup.height <= largest &&
           std::int64_t(setup.width) * setup.height <= std::numeric_limits<int>::max();
}

std::optional<LargeParts> unpack(const CameraSetup& camera, const FitSetup& fit, std::span<const std::byte> from) {
    Unpacker unpacker(from);
    LargeParts parts;
    if (camera.has_maps && !(is_sound(camera) && (parts.maps = take_maps(camera, unpacker)))) return {};
    if (fit.has_table && !(parts.table = take_table(unpacker))) return {};
    return parts;
}

bool cover(const CameraView::Maps& maps, const CameraSetup& setup) {
    return maps.offset.size() == std::size_t(setup.width) * std::size_t(setup.height);
}

CameraView make_camera(const CameraSetup& setup, std::shared_ptr<const CameraView::Maps> maps) {
    return CameraView(setup.width, setup.height, setup.excess_noise, setup.pixel, std::move(maps));
}

}  // namespace glint::warm_worker
