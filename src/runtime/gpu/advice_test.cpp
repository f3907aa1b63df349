// The tables contain every code of the toolkit's headers; the text of each exception contains its numbers.
// SPDX-License-Identifier: MIT
#include "gpu/advice.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <new>
#include <regex>
#include <set>

#include "glint/gpu/advice.hpp"
#include "glint/gpu/error.hpp"
#include "glint/gpu/lease.hpp"
#include "gpu/driver.hpp"

using namespace glint;
using namespace glint::gpu;

namespace {

constexpr std::uint64_t gib = std::uint64_t(1) << 30;

/// The codes of an enumeration in a header: "PREFIX_NAME = 12".
std::set<int> codes_in(const std::string& header, const std::string& prefix) {
    std::ifstream file(header);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const std::regex entry(prefix + "_[A-Z0-9_]+\\s*=\\s*([0-9]+)");
    std::set<int> codes;
    for (std::sregex_iterator found(content.begin(), content.end(), entry), end; found != end; ++found)
        codes.insert(std::stoi((*found)[1]));
    return codes;
}

/// Throws the same exceptions as fail().
template <class Failure>
Failure thrown_by(int code) {
    try {
        fail(code, "cuSomeCall");
    } catch (const Failure& failure) {
        return failure;
    }
    throw std::logic_error("another exception was expected");
}

void expect_in(const std::string& part, const std::string& all) {
    EXPECT_NE(all.find(part), std::string::npos) << '"' << part << "\" in: " << all;
}

}  // namespace

TEST(Advice, knows_every_code_of_the_driver) {
    const std::set<int> codes = codes_in(GLINT_CUDA_INCLUDE "/cuda.h", "CUDA_ERROR");
    if (codes.empty()) GTEST_SKIP() << "no cuda.h";
    EXPECT_GT(codes.size(), 90u);
    for (const int code : codes) EXPECT_TRUE(cuda_advice(code)) << code;
    EXPECT_FALSE(cuda_advice(0));
    EXPECT_FALSE(cuda_advice(12345));
}

TEST(Advice, knows_every_code_of_nvml) {
    std::set<int> codes = codes_in(GLINT_CUDA_INCLUDE "/nvml.h", "NVML_ERROR");
    for (int code = 1; code <= 30; ++code) codes.insert(code);  // codes of driver 580
    for (const int code : codes) EXPECT_TRUE(nvml_advice(code)) << code;
    EXPECT_TRUE(nvml_advice(999));
    EXPECT_FALSE(nvml_advice(0));
}

TEST(ExplainError, parts_the_message_from_what_to_do) {
    const auto [message, suggestion] = explain_error(thrown_by<GpuError>(209));
    expect_in("cuSomeCall: ", message);
    expect_in("no kernels for this GPU's generation", message);
    EXPECT_EQ(message.find("use another GPU"), std::string::npos) << message;
    expect_in("use another GPU", suggestion);
}

TEST(ExplainError, says_how_much_memory_was_missing) {
    const FriendlyError full = explain_error(OutOfMemory(2, "an allocation failed", 3 * gib, false, gib / 2));
    EXPECT_EQ(full.message, "an allocation failed");
    expect_in("3.0 GiB were asked for, 512.0 MiB were free", full.suggestion);
    const FriendlyError limited = explain_error(OutOfMemory(2, "an allocation failed", 3 * gib, true));
    expect_in("3.0 GiB did not fit into this program's own limit", limited.suggestion);
    expect_in("GLINT_GPU_MEMORY_LIMIT", limited.suggestion);
    expect_in("memory was asked for", explain_error(OutOfMemory(2, "no context", 0)).suggestion);
}

TEST(ExplainError, says_what_a_lease_lacked) {
    const FriendlyError late = explain_error(LeaseTimeout("no GPU had room", 8 * gib, 2 * gib));
    expect_in("8.0 GiB were needed", late.suggestion);
    expect_in("at most 2.0 GiB were free", late.suggestion);
    expect_in("`glint top`", late.suggestion);
}

TEST(ExplainError, says_that_a_lost_gpu_needs_a_new_process) {
    const auto [message, suggestion] = explain_error(thrown_by<DeviceLost>(700));
    expect_in("(700)", message);
    EXPECT_EQ(message.find("restart it"), std::string::npos) << message;
    expect_in("restart the program", suggestion);
    expect_in("compute-sanitizer", suggestion);
}

TEST(ExplainError, shows_the_way_to_a_gpu) {
    expect_in("`doctor_guide`", explain_error(NoGpu(100, "no NVIDIA driver")).suggestion);
}

TEST(ExplainError, has_something_to_say_of_any_exception) {
    EXPECT_EQ(explain_error(OptionError("`roi_size=2`: too small")).message, "`roi_size=2`: too small");
    expect_in("memory is full", explain_error(std::bad_alloc()).suggestion);
    const FriendlyError unknown = explain_error(std::runtime_error("a riddle"));
    EXPECT_EQ(unknown.message, "a riddle");
    expect_in("report it", unknown.suggestion);
    EXPECT_NE(explain_error(Cancelled("stopped")).suggestion, unknown.suggestion);
    EXPECT_NE(explain_error(GpuError(12345, "new")).suggestion, "");
}

TEST(ExplainError, knows_libraries_that_the_loader_does_not_find) {
    const FriendlyError driver =
        explain_error(std::runtime_error("libcuda.so.1: cannot open shared object file: No such file or directory"));
    for (const char* part : {"--gpus all", "WSL2", "`doctor_guide`"}) expect_in(part, driver.suggestion);
    expect_in("a library of CUDA is missing",
              explain_error(std::runtime_error("libcublas.so.12: cannot open shared object file")).suggestion);
    expect_in("report it", explain_error(std::runtime_error("libm.so.7: cannot open shared object file")).suggestion);
}

TEST(ExplainError, translates_bare_codes) {
    expect_in("fallen off the bus (NVML 15)", explain_nvml_code(15).message);
    expect_in("(CUDA 2)", explain_cuda_code(2).message);
    expect_in("12345, which is not known", explain_cuda_code(12345).message);
}
