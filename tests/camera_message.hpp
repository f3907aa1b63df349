// Error messages about camera files.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace glint::test {

/// Returns the message of the InputError of reading a file as a camera.
inline std::string message_of(const std::filesystem::path& file) {
    try {
        read_camera(file);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace glint::test
