// Shared by tests of localization files.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "glint/localizations.hpp"

namespace glint::test {

/// Returns a table with values in every column that a wrong order, unit or origin would change.
inline Localizations full_table(std::size_t n) {
    Localizations t;
    float base = 1;
    for (const LocalizationColumn& column : localization_columns()) {
        for (std::size_t k = 0; k < n; ++k) (t.*column.values).push_back(base + float(k % 29) * 0.37f);
        base += 0.25f;
    }
    for (float& value : t.log_likelihood) value = -value;
    for (std::size_t k = 0; k < n; ++k) {
        t.frame.push_back(std::uint32_t(k / 3));
        t.iterations.push_back(std::uint32_t(5 + k % 7));
        t.status.push_back(std::uint8_t(k % 3));
        t.extra["net_gradient"].values.push_back(double(1000 + k));
        t.extra["molecule"].values.push_back(double(1'000'000'000 + k));
        t.extra["track"].values.push_back(double(k % 17) - 1);
    }
    t.extra["track"].is_integer = true;
    t.width = 64, t.height = 48, t.frames = std::int64_t(n), t.pixel_size_nm = 107.5;
    return t;
}

struct Warnings {
    std::vector<std::string> all;
    Warn sink() {
        return [this](const std::string& message) { all.push_back(message); };
    }
    bool contain(const std::string& part) const {
        for (const std::string& message : all)
            if (message.find(part) != std::string::npos) return true;
        return false;
    }
};

inline void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& name) {
    ASSERT_EQ(a.size(), b.size()) << name;
    for (std::size_t k = 0; k < a.size(); ++k)  // a few roundings to float on the way
        ASSERT_NEAR(a[k], b[k], 4e-7 * (std::abs(a[k]) + 1)) << name << " row " << k;
}

template <class Exception, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Exception& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
    return "no exception";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

inline std::filesystem::path data_file(const char* name) {
    const char* folder = std::getenv("GLINT_DATA");
    return (folder ? std::filesystem::path(folder) : std::filesystem::path(GLINT_SOURCE_DIR) / "../shared/data") / name;
}

}  // namespace glint::test
