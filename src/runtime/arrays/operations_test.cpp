// The public operations: shapes that do not fit, shapes without elements, and operands on the other side.
// SPDX-License-Identifier: MIT
#include "glint/arrays/operations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "glint/arrays/calibrate.hpp"
#include "glint/error.hpp"
#include "gpu/gpu_fixture.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays {
namespace {

using test::expect_error;

Session session_on(Backend choice) {
    offload::SessionOptions options;
    options.choice = choice, options.gpu_memory_bytes = 64 << 20, options.gpu_timeout_s = 60;
    return Session(options);
}

std::vector<float> counted(std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

TEST(Operations, refuse_shapes_that_do_not_fit_and_name_them) {
    Session s = session_on(Backend::cpu);
    std::vector<float> x(24), y(24);
    const auto in = [&](Shape shape) { return View<const float>(x.data(), shape); };
    const auto out = [&](Shape shape) { return View<float>(y.data(), shape); };
    expect_error<OptionError>(
        [&] {
            matmul<float>(s, in({2, 3}), in({4, 3}), out({2, 3}));
        },
        {"(2, 3)", "(4, 3)", "3 rows"});
    expect_error<OptionError>([&] { matmul<float>(s, in({2, 3}), in({3, 4}), out({4, 2})); }, {"(2, 4)", "(4, 2)"});
    expect_error<OptionError>([&] { matmul<float>(s, in({3}), in({3, 4}), out({4})); }, {"a matrix", "(3)"});
    expect_error<OptionError>([&] { matmul<float>(s, in({2, 1, 3}), in({3, 3, 1}), out({2, 1, 1})); }, {"(3, 3, 1)"});
    expect_error<OptionError>([&] { svd<float>(s, in({4, 3}), out({4})); }, {"(3)", "(4)"});
    expect_error<OptionError>([&] { svd<float>(s, in({4, 3}), out({3}), out({4, 3})); }, {"both"});
    expect_error<OptionError>([&] { solve<float>(s, in({2, 3}), in({2, 1}), out({2, 1})); }, {"square", "(2, 3)"});
    expect_error<OptionError>([&] { solve<float>(s, in({3, 3}), in({2, 1}), out({2, 1})); }, {"(3, 3)", "(2, 1)"});
    expect_error<OptionError>([&] { eigh<float>(s, in({3, 3}), out({3}), out({3, 2})); }, {"(3, 3)", "(3, 2)"});
    expect_error<OptionError>([&] { qr<float>(s, in({4, 3}), out({4, 4}), out({3, 3})); }, {"(4, 3)", "(4, 4)"});
    expect_error<OptionError>(
        [&] {
            reduce_axis<float>(s, Reduction::sum, in({4, 3}), out({4}));
        },
        {"three", "(4, 3)"});
    expect_error<OptionError>(
        [&] {
            reduce_axis<float>(s, Reduction::minimum, in({2, 0, 3}), out({2, 3}));
        },
        {"at least one", "(2, 0, 3)"});
    expect_error<OptionError>(
        [&] {
            reduce_axis<float>(s, Reduction::argmin, in({2, 1, 3}), out({2, 3}));
        },
        {"find_along_axis"});
    expect_error<OptionError>([&] { map<float>(s, input(0) + input(1), {in({4})}, out({4})); },
                              {"input 1", "1 inputs"});
    expect_error<OptionError>([&] { map<float>(s, input(0), {in({4})}, out({5})); }, {"(5)", "(4)"});
    std::vector<std::complex<float>> spectrum(24);
    const View<std::complex<float>> half(spectrum.data(), {3});
    expect_error<OptionError>([&] { rfft<float>(s, in({6}), half); }, {"(4)", "(3)"});
    expect_error<OptionError>([&] { rfft<float>(s, in({0}), half); }, {"at least one element"});
    expect_error<OptionError>([&] { rfft<float>(s, in({4}), half, 3); }, {"rank of 3"});
}

TEST(Operations, of_no_elements_are_what_sums_of_no_terms_are) {
    Session s = session_on(Backend::cpu);
    std::vector<float> y(6, 7);
    matmul<float>(s, View<const float>(nullptr, {2, 0}), View<const float>(nullptr, {0, 3}),
                  View<float>(y.data(), {2, 3}));
    EXPECT_EQ(y, std::vector<float>(6, 0));
    matmul<float>(s, View<const float>(y.data(), {0, 2}), View<const float>(y.data(), {2, 3}),
                  View<float>(nullptr, {0, 3}));
    svd<float>(s, View<const float>(nullptr, {0, 3}), View<float>(nullptr, {0}));
    map<float>(s, input(0), {View<const float>(nullptr, {0})}, View<float>(nullptr, {0}));
    const View<const float> none(nullptr, {0});
    EXPECT_EQ(reduce<float>(s, Reduction::sum, input(0), {none}), 0);
    EXPECT_TRUE(std::isnan(reduce<float>(s, Reduction::mean, input(0), {none})));
    EXPECT_THROW(reduce<float>(s, Reduction::maximum, input(0), {none}), OptionError);
}

TEST(Operations, of_one_element) {
    Session s = session_on(Backend::cpu);
    const float two = 2, three = 3;
    float six = 0;
    matmul<float>(s, View<const float>(&two, {1, 1}), View<const float>(&three, {1, 1}), View<float>(&six, {1, 1}));
    EXPECT_EQ(six, 6);
    map<float>(s, input(0) * input(1), {View<const float>(&two, Shape{}), View<const float>(&three, Shape{})},
               View<float>(&six, Shape{}));
    EXPECT_EQ(six, 6);
    std::complex<float> one;
    rfft<float>(s, View<const float>(&two, {1}), View<std::complex<float>>(&one, {1}));
    EXPECT_EQ(one, std::complex<float>(2, 0));
}

class GpuOperations : public gpu::test::GpuTest {};

// Both sides compute from operands on either side; NaN and infinity included.
TEST_F(GpuOperations, take_operands_from_either_side_to_either_side) {
    Session s = session_on(Backend::gpu);
    std::vector<float> x = counted(12);
    x[3] = NAN, x[5] = INFINITY;
    const View<const float> on_host(x.data(), {3, 4});
    const DeviceArray<float> there = to_device<float>(s, on_host);
    for (const Backend choice : {Backend::cpu, Backend::gpu}) {
        SCOPED_TRACE(choice == Backend::cpu ? "on the CPU" : "on the GPU");
        s.set_choice(choice);
        for (const bool from_gpu : {false, true})
            for (const bool to_gpu : {false, true}) {
                const Operand<const float> in = from_gpu ? Operand<const float>(there) : Operand<const float>(on_host);
                std::vector<float> result(12, -1);
                const View<float> back(result.data(), {3, 4});
                if (to_gpu) {
                    const DeviceArray<float> out = empty_on_device<float>(s, {3, 4});
                    map<float>(s, input(0) * 2.0, {in}, out);
                    to_host<float>(s, out, back);
                } else {
                    map<float>(s, input(0) * 2.0, {in}, back);
                }
                for (std::size_t k = 0; k < 12; ++k) {
                    const bool same = std::isnan(x[k]) ? std::isnan(result[k]) : result[k] == 2 * x[k];
                    EXPECT_TRUE(same) << k << ": " << result[k];
                }
            }
    }
}

TEST_F(GpuOperations, move_views_with_gaps) {
    Session s = session_on(Backend::gpu);
    const std::vector<float> x = counted(12);
    const DeviceArray<float> turned = to_device<float>(s, View<const float>(x.data(), {4, 3}, {1, 4}));
    std::vector<float> back(12), again(12);
    to_host<float>(s, turned, View<float>(back.data(), {4, 3}));
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 3; ++column) EXPECT_EQ(back[row * 3 + column], x[column * 4 + row]);
    to_host<float>(s, turned, View<float>(again.data(), {4, 3}, {1, 4}));
    EXPECT_EQ(again, x);
}

}  // namespace

// The self-test compares with its own loops. This test checks that the self-test covers everything and finds no error.
TEST(SelfTest, finds_the_cpu_right) {
    Session s = session_on(Backend::cpu);
    int on_cpu = 0;
    for (const SelfTestRow& row : self_test(s))
        if (row.backend == "cpu") {
            EXPECT_TRUE(row.ok()) << row.operation << ": " << row.error << " > " << row.bound << " " << row.why_not;
            ++on_cpu;
        }
    EXPECT_EQ(on_cpu, 18);
    EXPECT_EQ(s.choice(), Backend::cpu);
}

}  // namespace glint::arrays
