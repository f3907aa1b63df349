// What is wrong with a camera's file.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace glint::test {

/// The InputError of a file that is read as a camera.
inline std::string message_of(const std::filesystem::path& file) {
    try {
        read_camera(file);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace glint::test
