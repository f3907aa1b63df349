// What the XML of a CZI file says of its movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glint::czi {

struct Facts {
    double width_nm = 0, height_nm = 0;  ///< of a pixel; 0: not said
    std::optional<double> exposure_ms;   ///< of the channels, where all are alike
    std::vector<std::string> channels;   ///< their names, which may be empty
    std::string camera;
    std::int64_t times = 0;  ///< 0: not said
};

/// The text of the file `name` need not be well-formed.
Facts parse_facts(std::string_view xml, const std::string& name);

}  // namespace glint::czi
