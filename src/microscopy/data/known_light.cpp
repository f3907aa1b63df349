// Known light as maps of offset and variance.
// SPDX-License-Identifier: MIT
#include "data/known_light.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace glint {

CameraView with_known_light(const CameraView& camera, std::span<const float> light_e) {
    CameraView::Maps maps;
    if (const auto& before = camera.maps()) maps.qe = before->qe, maps.masked = before->masked;
    std::vector<float> of_good;
    auto masked = maps.masked.begin();
    for (std::size_t k = 0; k < light_e.size(); ++k) {
        const CameraView::Pixel pixel = camera.pixel(k);
        const bool is_masked = masked != maps.masked.end() && masked->at == k;
        if (is_masked) ++masked;
        maps.offset.push_back(pixel.offset_adu + light_e[k] / pixel.factor_e_per_adu);
        maps.factor.push_back(pixel.factor_e_per_adu);
        maps.variance.push_back(is_masked ? masked_variance_e2
                                          : pixel.variance_e2 + camera.excess_noise() / pixel.qe * light_e[k]);
        if (!is_masked) of_good.push_back(maps.variance.back());
    }
    const CameraView::Pixel all{0, 1, float(median(std::move(of_good))), camera.qe_scalar()};
    return CameraView(camera.width(), camera.height(), camera.excess_noise(), all,
                      std::make_shared<const CameraView::Maps>(std::move(maps)));
}

}  // namespace glint
