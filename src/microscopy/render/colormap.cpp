// Colour maps, interpolated between a few knots.
// SPDX-License-Identifier: MIT
#include "render/colormap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"

namespace glint {
namespace {

/// Evenly spaced colours of six hexadecimal digits. inferno, magma and viridis: every fifth of the 256 colours that
/// Nathaniel Smith and Stefan van der Walt released into the public domain (CC0). cividis (Nunez et al., PLOS ONE 13,
/// e0199239 (2018)) and turbo (Mikhailov, Google AI blog (2019)): least-squares fits to their colours.
struct Knots {
    std::string_view name, rgb;
};
constexpr Knots maps[] = {
    {"inferno",
     "00000402020c0504170a072210092d160b391e0c45260c512f0a5b380962400a67490b6a510e6c59106e61136e69166e"
     "71196e781c6d801f6c88226a902568982766a02a63a82e5fb0315bb73557bf3952c63d4dcc4248d34743d94d3ddf5337"
     "e45a31e9612bed6925f1711ff47918f78212f98b0bfa9407fb9d07fca60cfcb014fbba1ffac42af8cd37f6d746f4e156"
     "f2ea69f2f27df5f992fcffa4"},
    {"magma",
     "00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e621980"
     "6a1c81721f81792282812581892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426fd9466be04c67"
     "e75263ec5860f1605df4695cf7725cf97b5dfb8560fc8e64fd9869fea16efeaa74feb47bfebd82fec68afecf92fed89a"
     "fde2a3fdebacfcf4b6fcfdbf"},
    {"viridis",
     "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c355e8d"
     "33638d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa18821a58524aa83"
     "28ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd25089d54895d840a2da37b0dd2fbddf26cae11f"
     "d8e219e5e419f1e51dfde725"},
    {"cividis",
     "00224e002758012c640030700b34701d396f263d6e2f426d37466c3e4b6c454f6c4b546c51596d575d6d5d626e636670"
     "696b716e70737474757979777f7e788583798c8878928c789891779f9776a59c74aca172b3a670b9ac6dc0b16ac7b767"
     "cebc63d5c25edcc859e3ce53ebd44cf2da44fbe037fee837"},
    {"turbo",
     "30123b38266a3e3892424ab4455cd0476de6477ef5448eff3d9ffe32aff626bfe81ccdd817dac61ae5b625eda638f491"
     "50fa7b6afd6583ff519afe41acfb38bdf534cdec34dce236e9d539f3c83bfaba39feab34fe982cfc8524f8711bf25e13"
     "e94d0ddf3f08d43205c62603b61c01a41301900b017a0403"},
    {"gray", "000000ffffff"},
};

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

double channel(std::string_view rgb, std::size_t knot, std::size_t c) {
    const std::size_t k = 6 * knot + 2 * c;
    return 16 * digit(rgb[k]) + digit(rgb[k + 1]);
}

const Knots& find(std::string_view name) {
    for (const Knots& map : maps)
        if (map.name == name) return map;
    throw OptionError(
        fmt::format("no colour map {}: there are inferno, magma, viridis, cividis, turbo and gray", name));
}

}  // namespace

Colormap::Colormap(std::string_view name) {
    const std::string_view rgb = find(name).rgb;
    const std::size_t intervals = rgb.size() / 6 - 1;
    for (std::size_t k = 0; k < colors_.size(); ++k) {
        const double place = double(k) / 255 * double(intervals);
        const std::size_t knot = std::min(std::size_t(place), intervals - 1);
        const double part = place - double(knot);
        for (std::size_t c = 0; c < 3; ++c)
            colors_[k][c] =
                std::uint8_t(std::lround((1 - part) * channel(rgb, knot, c) + part * channel(rgb, knot + 1, c)));
    }
}

Rgb Colormap::operator()(double value) const {
    return colors_[value > 0 ? std::size_t(std::lround(255 * std::min(value, 1.0))) : 0];
}

}  // namespace glint
