// The messages about missing libraries, and the meanings of their statuses.
// SPDX-License-Identifier: MIT
#include "arrays/libraries.hpp"

#include <gtest/gtest.h>

#include "glint/arrays/error.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays {
namespace {

using glint::test::expect_error;

TEST(Libraries, one_that_is_missing_is_reported_with_the_remedy) {
    expect_error<LibraryMissing>(
        [] {
            open_library({"libnobody.so.13", "libnobody.so.12"}, "nvidia-nobody", "libnobody-13-0");
        },
        {"libnobody.so.13", "pip install nvidia-nobody", "apt-get install libnobody-13-0", "LD_LIBRARY_PATH"});
}

TEST(Libraries, the_first_that_is_there_is_taken) {
    EXPECT_NE(open_library({"libnobody.so.13", "libc.so.6"}, "", ""), nullptr);
}

TEST(Libraries, each_status_has_a_name_a_meaning_and_a_remedy) {
    for (const Library library : {Library::cublas, Library::cufft, Library::cusolver}) {
        int known = 0;
        for (lib::Status status = 1; status < 40; ++status)
            if (const LibraryAdvice* advice = advice_on(library, status)) {
                EXPECT_GT(std::string(advice->name).size(), 5u);
                EXPECT_FALSE(std::string(advice->meaning).empty());
                EXPECT_FALSE(std::string(advice->remedy).empty());
                ++known;
            }
        EXPECT_GT(known, 8) << to_name(library);
        EXPECT_EQ(advice_on(library, lib::success), nullptr);
    }
    EXPECT_EQ(describe(Library::cublas, "cublasCreate", 3).find("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED (3): "), 0u);
    EXPECT_NE(describe(Library::cufft, "cufftCreate", 99).find("status 99 of cuFFT"), std::string::npos);
}

TEST(Libraries, a_lack_of_memory_is_distinguished_from_other_failures) {
    EXPECT_TRUE(lacks_memory(Library::cublas, 3) && lacks_memory(Library::cufft, 2) &&
                lacks_memory(Library::cusolver, 2));
    EXPECT_FALSE(lacks_memory(Library::cublas, 2) || lacks_memory(Library::cusolver, 3));
    EXPECT_TRUE(may_lack_memory(Library::cufft, lib::cufft::internal_error));
    EXPECT_FALSE(may_lack_memory(Library::cufft, lib::cufft::exec_failed));
}

}  // namespace
}  // namespace glint::arrays
