// Copies of strided arrays of any type, and reductions along an axis, on a GPU.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "arrays/gpu_arrays_fixture.hpp"
#include "arrays/number.hpp"
#include "arrays/reduce_axis_test.hpp"

namespace glint::arrays::test {
namespace {

template <class T>
struct GpuAxes : GpuArraysTest {};
using Types = ::testing::Types<float, double, std::int64_t>;
TYPED_TEST_SUITE(GpuAxes, Types);

struct GpuCopies : GpuArraysTest {
    template <class T>
    DeviceView view_of(const std::vector<T>& values, Type type, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides, std::int64_t first = 0) {
        DeviceView view{gpu::Buffer<std::byte>(*stream, values.size() * sizeof(T)), type, shape, strides, first};
        gpu::upload(*stream, view.memory, std::as_bytes(std::span(values)));
        return view;
    }
    template <class T>
    std::vector<T> contents(const DeviceView& view) {
        std::vector<T> values(view.memory.bytes() / sizeof(T));
        gpu::download(*stream, std::as_writable_bytes(std::span(values)), view.memory);
        stream->synchronize();
        return values;
    }
};

}  // namespace

TEST_F(GpuCopies, slices_turned_repeated_and_backwards) {
    std::vector<int> values(5 * 6 * 7);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = int(k);
    // Element (i, j, k) of the result is element (4 - i, k + 1, 2 j) of (5, 6, 7), or of its first plane.
    for (const std::int64_t plane : {-42, 0}) {
        const DeviceView from = view_of(values, Type::int32, {3, 4, 5}, {plane, 2, 7}, (plane ? 4 : 0) * 42 + 7);
        const DeviceView to = view_of(std::vector<int>(200, -1), Type::int32, {3, 4, 5}, {50, 1, 8}, 3);
        on_gpu->copy(from, to);
        std::vector<int> expected(200, -1);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 4; ++j)
                for (int k = 0; k < 5; ++k)
                    expected[std::size_t(3 + 50 * i + j + 8 * k)] = (plane ? 4 - i : 0) * 42 + (k + 1) * 7 + 2 * j;
        EXPECT_EQ(contents<int>(to), expected);
    }
}

TEST_F(GpuCopies, positions_along_an_axis) {
    std::vector<std::int16_t> values(3 * 5 * 4);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = std::int16_t(k);
    const DeviceView from = view_of(values, Type::int16, {3, 5, 4}, {20, 4, 1});
    const std::vector<std::int64_t> positions{4, -5, 2, 2, -1, 0, 1};
    const DeviceView at = view_of(positions, Type::int64, {7}, {1});
    const DeviceView to = view_of(std::vector<std::int16_t>(3 * 7 * 4), Type::int16, {3, 7, 4}, {28, 4, 1});
    on_gpu->take(from, 1, at, to);
    const auto found = contents<std::int16_t>(to);
    for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 7; ++j)
            for (std::int64_t k = 0; k < 4; ++k) {
                const std::int64_t position = (positions[std::size_t(j)] + 5) % 5;
                EXPECT_EQ(found[std::size_t(i * 28 + j * 4 + k)], i * 20 + position * 4 + k) << i << j << k;
            }
}

TEST_F(GpuCopies, conversions_as_the_compiler_does_them) {
    const std::vector<double> values{0, 1, -1, 2.5, -7.75, 100, 127, -128, 65504, 1e-7, 3e-5, -1e30, 5.9604645e-8};
    const std::int64_t n = std::int64_t(values.size());
    const DeviceView from = view_of(values, Type::float64, {n}, {1});
    const auto converted = [&]<class T>(Type type, T) {
        const DeviceView to = view_of(std::vector<T>(values.size()), type, {n}, {1});
        on_gpu->copy(from, to);
        const DeviceView back = view_of(std::vector<double>(values.size()), Type::float64, {n}, {1});
        on_gpu->copy(to, back);
        const auto found = contents<T>(to);
        const auto again = contents<double>(back);
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (std::is_integral_v<T> && (values[k] < double(std::numeric_limits<T>::min()) ||
                                          values[k] > double(std::numeric_limits<T>::max())))
                continue;  // undefined
            EXPECT_EQ(found[k], T(values[k])) << to_name(type) << " of " << values[k];
            EXPECT_EQ(again[k], double(found[k])) << to_name(type);
        }
    };
    converted(Type::int8, std::int8_t());
    converted(Type::int16, std::int16_t());
    converted(Type::int32, std::int32_t());
    converted(Type::int64, std::int64_t());
    converted(Type::uint8, std::uint8_t());
    converted(Type::uint16, std::uint16_t());
    converted(Type::uint32, std::uint32_t());
    converted(Type::uint64, std::uint64_t());
    converted(Type::float32, float());
    const DeviceView booleans = view_of(std::vector<std::uint8_t>(values.size()), Type::boolean, {n}, {1});
    const DeviceView complex = view_of(std::vector<std::complex<float>>(values.size()), Type::complex64, {n}, {1});
    on_gpu->copy(from, booleans), on_gpu->copy(from, complex);
    for (std::size_t k = 0; k < values.size(); ++k) {
        EXPECT_EQ(contents<std::uint8_t>(booleans)[k], values[k] != 0);
        EXPECT_EQ(contents<std::complex<float>>(complex)[k], std::complex<float>(float(values[k])));
    }
}

TEST_F(GpuCopies, whole_numbers_keep_all_bits) {
    const std::vector<std::int64_t> values{std::numeric_limits<std::int64_t>::max() - 2, -3, (1LL << 53) + 1, 0x1ff};
    const DeviceView from = view_of(values, Type::int64, {4}, {1});
    const DeviceView bytes = view_of(std::vector<std::uint8_t>(4), Type::uint8, {4}, {1});
    const DeviceView big = view_of(std::vector<std::uint64_t>(4), Type::uint64, {4}, {1});
    const DeviceView floats = view_of(std::vector<float>(4), Type::float32, {4}, {1});
    on_gpu->copy(from, bytes), on_gpu->copy(from, big), on_gpu->copy(big, floats);
    EXPECT_EQ(contents<std::uint8_t>(bytes), (std::vector<std::uint8_t>{0xfd, 0xfd, 1, 0xff}));
    EXPECT_EQ(contents<std::uint64_t>(big)[1], std::uint64_t(-3));
    EXPECT_EQ(contents<float>(floats)[1], float(std::uint64_t(-3)));
}

#ifdef __FLT16_MANT_DIG__
TEST_F(GpuCopies, float16_as_the_compiler_does_it) {
    std::vector<std::uint16_t> all(1 << 16);
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = std::uint16_t(k);
    const std::int64_t n = std::int64_t(all.size());
    const DeviceView halves = view_of(all, Type::float16, {n}, {1});
    const DeviceView wide = view_of(std::vector<float>(all.size()), Type::float32, {n}, {1});
    on_gpu->copy(halves, wide);
    const auto values = contents<float>(wide);
    std::vector<double> between;  // neighbouring values, and values between them, including ties
    for (std::size_t k = 0; k < all.size(); ++k) {
        _Float16 half;
        std::memcpy(&half, &all[k], 2);
        ASSERT_TRUE(values[k] == float(half) || (values[k] != values[k] && half != half)) << k;
        const double next = k + 1 < all.size() ? double(values[k + 1]) : 0;
        between.push_back(k % 3 ? (double(values[k]) + next) / 2 : 0.3 * double(values[k]) + 0.7 * next);
    }
    const DeviceView from = view_of(between, Type::float64, {n}, {1});
    on_gpu->copy(from, halves);
    const auto found = contents<std::uint16_t>(halves);
    for (std::size_t k = 0; k < between.size(); ++k) {
        const _Float16 expected = _Float16(between[k]);
        std::uint16_t bits;
        std::memcpy(&bits, &expected, 2);
        ASSERT_TRUE(found[k] == bits || (expected != expected && (found[k] & 0x7fff) > 0x7c00)) << between[k];
    }
}
#endif

TEST_F(GpuCopies, of_too_many_dimensions_are_refused) {
    std::vector<std::int64_t> shape(9, 2), from_strides(9), to_strides(9);
    for (int k = 0; k < 9; ++k) from_strides[std::size_t(k)] = 1 << k, to_strides[std::size_t(8 - k)] = 1 << k;
    const DeviceView from = view_of(std::vector<float>(512), Type::float32, shape, from_strides);
    const DeviceView to = view_of(std::vector<float>(512), Type::float32, shape, to_strides);
    EXPECT_THROW(on_gpu->copy(from, to), OptionError);
    const DeviceView alike = view_of(std::vector<float>(512), Type::float32, shape, from_strides);
    EXPECT_NO_THROW(on_gpu->copy(from, alike)) << "these are taken together";
}

TYPED_TEST(GpuAxes, reductions_from_the_host_and_there) {
    using T = TypeParam;
    const Shape shapes[] = {{1, 1, 1},   {3, 5, 2},     {2, 700, 65},   {7, 1, 40},     {1, 300000, 1},
                            {9, 33, 32}, {1, 20000, 3}, {2, 40000, 33}, {300, 1000, 1}, {1, 1023, 31}};
    for (const Shape& shape : shapes) {
        const auto values = axis_values<T>(shape.count(), 3);
        const Shape result{shape[0], shape[2]};
        for (const bool there : {false, true}) {
            const Operand<const T> in = there ? Operand<const T>(this->to_device(values, shape))
                                              : Operand<const T>(View<const T>(values.data(), shape));
            const auto reduce = [&]<class R>(Reduction how, R) {
                std::vector<R> out(std::size_t(result.count()));
                if (!there) {
                    this->on_gpu->template reduce_axis<T, R>(how, in, View<R>(out.data(), result));
                    return out;
                }
                const auto to = this->template empty<R>(result);
                this->on_gpu->template reduce_axis<T, R>(how, in, to);
                return this->values_of(to);
            };
            expect_reductions<T>(
                shape,
                [&](std::int64_t u, std::int64_t k, std::int64_t i) {
                    return values[std::size_t((u * shape[1] + k) * shape[2] + i)];
                },
                [&](Reduction how) { return reduce(how, T()); },
                [&](Reduction how) { return reduce(how, std::int64_t()); });
        }
    }
}

TYPED_TEST(GpuAxes, equal_elements_are_found_first_and_products_multiply) {
    using T = TypeParam;
    const std::vector<T> values(100000, T(3)), few{2, 3, 5, 7, -1, 4};
    std::int64_t at = -1;
    for (const Reduction how : {Reduction::argmin, Reduction::argmax}) {
        this->on_gpu->template reduce_axis<T, std::int64_t>(how, View<const T>(values.data(), {1, 100000, 1}),
                                                            View<std::int64_t>(&at, {1, 1}));
        EXPECT_EQ(at, 0);
    }
    std::vector<T> out(2);
    this->on_gpu->template reduce_axis<T, T>(Reduction::product, View<const T>(few.data(), {1, 3, 2}),
                                             View<T>(out.data(), {1, 2}));
    EXPECT_EQ(out, (std::vector<T>{2 * 5 * -1, 3 * 7 * 4}));
}

TEST_F(GpuCopies, positions_of_nan_come_first) {
    std::vector<double> values(100000, 1);
    values[500] = -2, values[60001] = values[70000] = std::numeric_limits<double>::quiet_NaN();
    std::int64_t at = -1;
    double least = 0;
    const View<const double> in(values.data(), {1, 100000, 1});
    on_gpu->reduce_axis<double, std::int64_t>(Reduction::argmin, in, View<std::int64_t>(&at, {1, 1}));
    on_gpu->reduce_axis<double, double>(Reduction::minimum, in, View<double>(&least, {1, 1}));
    EXPECT_EQ(at, 60001);
    EXPECT_TRUE(std::isnan(least));
}

TEST_F(GpuCopies, maps_of_integers_are_exact) {
    const std::int64_t big = (std::int64_t(1) << 60) + 1;
    const std::vector<std::int64_t> a{big, -7, 7, 5, std::numeric_limits<std::int64_t>::max(), -3},
        b{3, 2, -2, 0, 1, 1};
    std::vector<std::int64_t> out(a.size());
    const auto map = [&](const Expression& expression) {
        const std::vector<Operand<const std::int64_t>> inputs{View<const std::int64_t>(a.data(), {6}),
                                                              View<const std::int64_t>(b.data(), {6})};
        on_gpu->map<std::int64_t>(compile(expression), inputs, View<std::int64_t>(out.data(), {6}));
        return out;
    };
    const Expression x = input(0), y = input(1);
    using Whole = std::vector<std::int64_t>;
    EXPECT_EQ(map(x + y), (Whole{big + 3, -5, 5, 5, std::numeric_limits<std::int64_t>::min(), -2}));
    EXPECT_EQ(map(remainder(x, y)), (Whole{big % 3, 1, -1, 0, 0, 0}));
    EXPECT_EQ(map(x / y), (Whole{big / 3, -3, -3, 0, a[4], -3}));
    EXPECT_EQ(map(x < y), (Whole{0, 1, 0, 0, 0, 1}));
    EXPECT_EQ(map(pow(y, 3.0)), (Whole{27, 8, -8, 0, 1, 1}));
}

}  // namespace glint::arrays::test
