// Runs small problems on every backend and compares the results with plain loops.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "glint/arrays/calibrate.hpp"
#include "glint/arrays/operations.hpp"
#include "glint/error.hpp"
#include "offload/forced.hpp"

namespace glint::arrays {
namespace {

constexpr std::int64_t rows = 37, inner = 29, columns = 23, transform = 90;
constexpr double roundings = 100;  // of the result's size, in units of the precision: no operation here loses more

template <class T>
std::vector<T> random_values(std::int64_t n) {
    static std::mt19937 random{1};
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> values;
    for (std::int64_t k = 0; k < n; ++k) values.push_back(T(uniform(random)));
    return values;
}

/// Returns the maximum difference between `found` and at(k), relative to the maximum value.
template <class T, class At>
double error_of(const std::vector<T>& found, const At& at) {
    double largest = 0, difference = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
        const auto expected = at(std::int64_t(k));
        largest = std::max(largest, double(std::abs(expected)));
        const double off = double(std::abs(std::complex<double>(found[k]) - std::complex<double>(expected)));
        difference = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(difference, off);
    }
    return difference / largest;
}

template <class T>
double product_error(Session& session) {
    const auto a = random_values<T>(rows * inner), b = random_values<T>(inner * columns);
    std::vector<T> c(rows * columns);
    matmul<T>(session, View<const T>(a.data(), {rows, inner}), View<const T>(b.data(), {inner, columns}),
              View<T>(c.data(), {rows, columns}));
    return error_of(c, [&](std::int64_t k) {
        double sum = 0;
        for (std::int64_t i = 0; i < inner; ++i)
            sum += double(a[k / columns * inner + i]) * double(b[i * columns + k % columns]);
        return sum;
    });
}

template <class T>
double transform_error(Session& session) {
    const auto parts = random_values<T>(2 * transform);
    std::vector<std::complex<T>> in, out(transform);
    for (std::int64_t k = 0; k < transform; ++k) in.emplace_back(parts[2 * k], parts[2 * k + 1]);
    fft<T>(session, View<const std::complex<T>>(in.data(), {transform}),
           View<std::complex<T>>(out.data(), {transform}));
    return error_of(out, [&](std::int64_t k) {
        std::complex<double> sum = 0;
        for (std::int64_t i = 0; i < transform; ++i)
            sum += std::complex<double>(in[i]) * std::polar(1.0, -2 * M_PI * double(k * i % transform) / transform);
        return sum;
    });
}

/// Compares u diag(s) vt with the decomposed matrix; values that do not descend are an error too.
template <class T>
double decomposition_error(Session& session) {
    const auto a = random_values<T>(rows * columns);
    std::vector<T> s(columns), u(rows * columns), vt(columns * columns);
    svd<T>(session, View<const T>(a.data(), {rows, columns}), View<T>(s.data(), {columns}),
           View<T>(u.data(), {rows, columns}), View<T>(vt.data(), {columns, columns}));
    if (!std::is_sorted(s.rbegin(), s.rend())) return std::numeric_limits<double>::infinity();
    std::vector<double> product(rows * columns);
    for (std::int64_t k = 0; k < rows * columns; ++k)
        for (std::int64_t i = 0; i < columns; ++i)
            product[k] += double(u[k / columns * columns + i]) * double(s[i]) * double(vt[i * columns + k % columns]);
    return error_of(product, [&](std::int64_t k) { return double(a[k]); });
}

/// Multiplies a (rows of `width`) and b (width, columns).
template <class T>
std::vector<double> product_of(const std::vector<T>& a, const std::vector<T>& b, std::int64_t width) {
    const std::int64_t n = std::int64_t(b.size()) / width;
    std::vector<double> product(a.size() / std::size_t(width) * std::size_t(n));
    for (std::int64_t k = 0; k < std::int64_t(product.size()); ++k)
        for (std::int64_t i = 0; i < width; ++i) product[k] += double(a[k / n * width + i]) * double(b[i * n + k % n]);
    return product;
}

/// Compares a x with b, for a matrix with a dominant diagonal.
template <class T>
double solution_error(Session& session) {
    auto a = random_values<T>(rows * rows);
    for (std::int64_t k = 0; k < rows; ++k) a[k * rows + k] += T(rows);
    const auto b = random_values<T>(rows * columns);
    std::vector<T> x(rows * columns);
    solve<T>(session, View<const T>(a.data(), {rows, rows}), View<const T>(b.data(), {rows, columns}),
             View<T>(x.data(), {rows, columns}));
    return error_of(product_of(a, x, rows), [&](std::int64_t k) { return double(b[k]); });
}

/// Compares a v with v diag(w).
template <class T>
double eigenvalue_error(Session& session) {
    auto a = random_values<T>(rows * rows);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < i; ++j) a[j * rows + i] = a[i * rows + j];
    std::vector<T> w(rows), v(rows * rows);
    eigh<T>(session, View<const T>(a.data(), {rows, rows}), View<T>(w.data(), {rows}), View<T>(v.data(), {rows, rows}));
    if (!std::is_sorted(w.begin(), w.end())) return std::numeric_limits<double>::infinity();
    return error_of(product_of(a, v, rows), [&](std::int64_t k) { return double(v[k]) * double(w[k % rows]); });
}

/// Compares q r with the decomposed matrix.
template <class T>
double qr_error(Session& session) {
    const auto a = random_values<T>(rows * columns);
    std::vector<T> q(rows * columns), r(columns * columns);
    qr<T>(session, View<const T>(a.data(), {rows, columns}), View<T>(q.data(), {rows, columns}),
          View<T>(r.data(), {columns, columns}));
    return error_of(product_of(q, r, columns), [&](std::int64_t k) { return double(a[k]); });
}

template <class T>
double axis_error(Session& session) {
    const auto a = random_values<T>(2 * rows * inner);
    std::vector<T> sums(2 * inner);
    reduce_axis<T>(session, Reduction::sum, View<const T>(a.data(), {2, rows, inner}),
                   View<T>(sums.data(), {2, inner}));
    return error_of(sums, [&](std::int64_t k) {
        double sum = 0;
        for (std::int64_t i = 0; i < rows; ++i) sum += double(a[(k / inner * rows + i) * inner + k % inner]);
        return sum;
    });
}

template <class T>
double map_error(Session& session) {
    const auto a = random_values<T>(rows * inner), b = random_values<T>(rows * inner);
    std::vector<T> c(rows * inner);
    const Expression x = input(0), y = input(1);
    map<T>(session, sqrt(x * x + y * y) + exp(x),
           {View<const T>(a.data(), {rows, inner}), View<const T>(b.data(), {rows, inner})},
           View<T>(c.data(), {rows, inner}));
    return error_of(c, [&](std::int64_t k) { return std::hypot(double(a[k]), double(b[k])) + std::exp(double(a[k])); });
}

template <class T>
double sum_error(Session& session) {
    const auto a = random_values<T>(rows * inner);
    const double sum = reduce<T>(session, Reduction::sum, square(input(0)), {View<const T>(a.data(), {rows, inner})});
    double expected = 0;
    for (const T value : a) expected += double(value) * double(value);
    return std::abs(sum - expected) / expected;
}

template <class T>
void test(Session& session, const std::string& backend, const std::string& type, std::vector<SelfTestRow>& table) {
    const std::pair<const char*, double (*)(Session&)> all[] = {
        {"matmul", product_error<T>},   {"fft", transform_error<T>},   {"svd", decomposition_error<T>},
        {"solve", solution_error<T>},   {"eigh", eigenvalue_error<T>}, {"qr", qr_error<T>},
        {"reduce axis", axis_error<T>}, {"map", map_error<T>},         {"reduce", sum_error<T>}};
    for (const auto& [name, error] : all) {
        SelfTestRow row{std::string(name) + " " + type, backend, 0, roundings * std::numeric_limits<T>::epsilon(), ""};
        try {
            row.error = error(session);
        } catch (const Error& problem) {
            row.why_not = problem.what();
        }
        table.push_back(row);
    }
}

}  // namespace

std::vector<SelfTestRow> self_test(Session& session) {
    std::vector<SelfTestRow> table;
    offload::Forced forced(session);
    for (const bool on_gpu : {false, true}) {
        forced.to(on_gpu ? Backend::gpu : Backend::cpu);
        test<float>(session, on_gpu ? "cuda" : "cpu", "float32", table);
        test<double>(session, on_gpu ? "cuda" : "cpu", "float64", table);
    }
    return table;
}

}  // namespace glint::arrays
