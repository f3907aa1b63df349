// Packs maps, and checks what comes out.
// SPDX-License-Identifier: MIT
#include "fit/worker/camera_setup.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "fit/worker/packed.hpp"

namespace glint::worker {
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

}  // namespace

CameraSetup setup_of(const CameraView& camera) {
    CameraSetup setup;
    setup.width = camera.width(), setup.height = camera.height(), setup.excess_noise = camera.excess_noise();
    setup.pixel =
        camera.uniform() ? camera.pixel(0) : CameraView::Pixel{0, 1, camera.variance_scalar(), camera.qe_scalar()};
    setup.has_maps = !camera.uniform();
    return setup;
}

std::size_t bytes_of_maps(const CameraView& camera) {
    std::size_t bytes = 0;
    if (camera.maps())
        for_maps(*camera.maps(), [&](const auto& map) { bytes += packed_bytes(map.size() * sizeof map[0]); });
    return bytes;
}

void pack_maps(const CameraView& camera, std::span<std::byte> to) {
    Packer packer(to);
    if (camera.maps()) for_maps(*camera.maps(), [&](const auto& map) { packer.add(map); });
}

bool is_sound(const CameraSetup& setup) {
    constexpr int largest = 1 << 20;
    return setup.width >= 1 && setup.width <= largest && setup.height >= 1 && setup.height <= largest &&
           std::int64_t(setup.width) * setup.height <= std::numeric_limits<int>::max();
}

std::shared_ptr<const CameraView::Maps> maps_of(const CameraSetup& setup, std::span<const std::byte> from) {
    CameraView::Maps all;
    Unpacker unpacker(from);
    for_maps(all, [&](auto& map) { unpacker.take(map); });
    if (!unpacker.good() || !are_sound(all) || !cover(all, setup)) return {};
    return std::make_shared<const CameraView::Maps>(std::move(all));
}

bool cover(const CameraView::Maps& maps, const CameraSetup& setup) {
    return maps.offset.size() == std::size_t(setup.width) * std::size_t(setup.height);
}

CameraView camera_of(const CameraSetup& setup, std::shared_ptr<const CameraView::Maps> maps) {
    return CameraView(setup.width, setup.height, setup.excess_noise, setup.pixel, std::move(maps));
}

}  // namespace glint::worker
