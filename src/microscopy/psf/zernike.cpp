// SPDX-License-Identifier: MIT
#include "psf/zernike.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "glint/error.hpp"
#include "glint/pupil.hpp"

namespace glint {
namespace {

struct ZernikeName {
    std::string_view name;
    int noll;
};

constexpr ZernikeName zernike_table[] = {{"defocus", 4},
                                         {"astigmatism_45", 5},
                                         {"astigmatism", 6},
                                         {"coma_y", 7},
                                         {"coma_x", 8},
                                         {"trefoil_30", 9},
                                         {"trefoil", 10},
                                         {"spherical", 11},
                                         {"secondary_astigmatism", 12},
                                         {"secondary_astigmatism_45", 13},
                                         {"quadrafoil", 14},
                                         {"quadrafoil_22", 15},
                                         {"secondary_coma_x", 16},
                                         {"secondary_coma_y", 17},
                                         {"secondary_spherical", 22}};

}  // namespace

Zernike::Zernike(int noll) {
    int rest = noll - 1;
    while (rest > degree_) rest -= ++degree_;
    // In a row, the angular orders are n % 2, then pairs of equal ones; cosines have even numbers.
    angular_ = degree_ % 2 + 2 * ((rest + (degree_ + 1) % 2) / 2);
    is_sine_ = angular_ > 0 && noll % 2 == 1;
    const double norm = std::sqrt((angular_ > 0 ? 2.0 : 1.0) * (degree_ + 1));
    for (int s = 0; s <= (degree_ - angular_) / 2; ++s)
        radial_.push_back((s % 2 ? -norm : norm) * std::tgamma(degree_ - s + 1) /
                          (std::tgamma(s + 1) * std::tgamma((degree_ + angular_) / 2 - s + 1) *
                           std::tgamma((degree_ - angular_) / 2 - s + 1)));
}

double Zernike::value(double x, double y) const {
    const double square = x * x + y * y;
    double radial = 0;
    for (const double coefficient : radial_) radial = radial * square + coefficient;
    double cosine = 1, sine = 0;  // times r^m
    for (int m = 0; m < angular_; ++m) {
        const double before = cosine;
        cosine = x * before - y * sine, sine = x * sine + y * before;
    }
    return radial * (is_sine_ ? sine : cosine);
}

int parse_zernike(std::string_view name) {
    std::string known;
    for (const ZernikeName& one : zernike_table) {
        if (one.name == name) return one.noll;
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", one.name, one.noll);
    }
    int noll = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), noll);
    if (error == std::errc() && rest == name.data() + name.size() && noll >= min_zernike_noll &&
        noll <= max_zernike_noll)
        return noll;
    const bool is_shift = error == std::errc() && noll >= 1 && noll < min_zernike_noll;
    throw OptionError(fmt::format("no Zernike polynomial `zernike={}`{}: there are {}; or give Noll's number, {} to {}",
                                  name, is_shift ? ", which only shifts the image or does nothing" : "", known,
                                  min_zernike_noll, max_zernike_noll));
}

std::vector<std::string_view> zernike_names() {
    std::vector<std::string_view> names;
    for (const ZernikeName& one : zernike_table) names.push_back(one.name);
    return names;
}

}  // namespace glint
