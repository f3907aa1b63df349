// Bindings of array operations; glint/offload/operations.py checks and prepares the arguments.
// SPDX-License-Identifier: MIT
#include "glint/arrays/operations.hpp"

#include <nanobind/stl/shared_ptr.h>

#include "bindings.hpp"
#include "device_array.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using arrays::Operand;
using offload::Session;

void matmul(const SessionHandle& handle, const std::string& dtype, nb::handle a, nb::handle b, nb::handle out) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> x = arguments.in<T>(a), y = arguments.in<T>(b);
        const Operand<T> z = arguments.out<T>(out);
        run(handle, arguments, [&](Session& session) { arrays::matmul<T>(session, x, y, z); });
    });
}

void fft(const SessionHandle& handle, const std::string& dtype, nb::handle in, nb::handle out, int rank, bool inverse) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const auto x = arguments.in<std::complex<T>>(in);
        const auto y = arguments.out<std::complex<T>>(out);
        run(handle, arguments, [&](Session& session) { arrays::fft<T>(session, x, y, {rank, inverse}); });
    });
}

void rfft(const SessionHandle& handle, const std::string& dtype, nb::handle in, nb::handle out, int rank) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const auto x = arguments.in<T>(in);
        const auto y = arguments.out<std::complex<T>>(out);
        run(handle, arguments, [&](Session& session) { arrays::rfft<T>(session, x, y, rank); });
    });
}

void irfft(const SessionHandle& handle, const std::string& dtype, nb::handle in, nb::handle out, int rank) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const auto x = arguments.in<std::complex<T>>(in);
        const auto y = arguments.out<T>(out);
        run(handle, arguments, [&](Session& session) { arrays::irfft<T>(session, x, y, rank); });
    });
}

void svd(const SessionHandle& handle, const std::string& dtype, nb::handle a, nb::handle s, nb::handle u,
         nb::handle vt) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> x = arguments.in<T>(a);
        const Operand<T> values = arguments.out<T>(s), left = arguments.out<T>(u), right = arguments.out<T>(vt);
        run(handle, arguments, [&](Session& session) { arrays::svd<T>(session, x, values, left, right); });
    });
}

void solve(const SessionHandle& handle, const std::string& dtype, nb::handle a, nb::handle b, nb::handle x) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> matrix = arguments.in<T>(a), right = arguments.in<T>(b);
        const Operand<T> result = arguments.out<T>(x);
        run(handle, arguments, [&](Session& session) { arrays::solve<T>(session, matrix, right, result); });
    });
}

void eigh(const SessionHandle& handle, const std::string& dtype, nb::handle a, nb::handle w, nb::handle v) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> matrix = arguments.in<T>(a);
        const Operand<T> values = arguments.out<T>(w), vectors = arguments.out<T>(v);
        run(handle, arguments, [&](Session& session) { arrays::eigh<T>(session, matrix, values, vectors); });
    });
}

void qr(const SessionHandle& handle, const std::string& dtype, nb::handle a, nb::handle q, nb::handle r) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> matrix = arguments.in<T>(a);
        const Operand<T> columns = arguments.out<T>(q), upper = arguments.out<T>(r);
        run(handle, arguments, [&](Session& session) { arrays::qr<T>(session, matrix, columns, upper); });
    });
}

template <class T>
std::vector<Operand<const T>> all_in(Arguments& arguments, nb::sequence inputs) {
    std::vector<Operand<const T>> all;
    for (nb::handle input : inputs) all.push_back(arguments.in<T>(input));
    return all;
}

void map(const SessionHandle& handle, const std::string& dtype, const arrays::Expression& expression,
         nb::sequence inputs, nb::handle out) {
    with_real_or_whole(dtype, [&]<class T>(T) {
        Arguments arguments;
        const auto x = all_in<T>(arguments, inputs);
        const Operand<T> y = arguments.out<T>(out);
        run(handle, arguments, [&](Session& session) { arrays::map<T>(session, expression, x, y); });
    });
}

arrays::Reduction reduction_of(const std::string& name) {
    if (name == "sum") return arrays::Reduction::sum;
    if (name == "mean") return arrays::Reduction::mean;
    if (name == "minimum") return arrays::Reduction::minimum;
    if (name == "maximum") return arrays::Reduction::maximum;
    if (name == "product") return arrays::Reduction::product;
    if (name == "argmin") return arrays::Reduction::argmin;
    if (name == "argmax") return arrays::Reduction::argmax;
    throw OptionError(
        "a reduction '" + name +
        "' is none: give 'sum', 'mean', 'minimum', 'maximum', and along an axis 'product', 'argmin', 'argmax'");
}

double reduce(const SessionHandle& handle, const std::string& dtype, const std::string& name,
              const arrays::Expression& expression, nb::sequence inputs) {
    const arrays::Reduction reduction = reduction_of(name);
    return with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const auto x = all_in<T>(arguments, inputs);
        double result = 0;
        run(handle, arguments,
            [&](Session& session) { result = arrays::reduce<T>(session, reduction, expression, x); });
        return result;
    });
}

/// Reduces (outer, n, inner) to (outer, inner).
void reduce_axis(const SessionHandle& handle, const std::string& dtype, const std::string& name, nb::handle in,
                 nb::handle out) {
    const arrays::Reduction reduction = reduction_of(name);
    with_real_or_whole(dtype, [&]<class T>(T) {
        Arguments arguments;
        const Operand<const T> x = arguments.in<T>(in);
        if (reduction == arrays::Reduction::argmin || reduction == arrays::Reduction::argmax) {
            const auto y = arguments.out<std::int64_t>(out);
            run(handle, arguments, [&](Session& session) { arrays::find_along_axis<T>(session, reduction, x, y); });
        } else {
            const auto y = arguments.out<T>(out);
            run(handle, arguments, [&](Session& session) { arrays::reduce_axis<T>(session, reduction, x, y); });
        }
    });
}

}  // namespace

void bind_operations(nb::module_& m) {
    m.def("matmul", &matmul, "session"_a, "dtype"_a, "a"_a, "b"_a, "out"_a);
    m.def("fft", &fft, "session"_a, "dtype"_a, "input"_a, "out"_a, "rank"_a, "inverse"_a);
    m.def("rfft", &rfft, "session"_a, "dtype"_a, "input"_a, "out"_a, "rank"_a);
    m.def("irfft", &irfft, "session"_a, "dtype"_a, "input"_a, "out"_a, "rank"_a);
    m.def("svd", &svd, "session"_a, "dtype"_a, "a"_a, "s"_a, "u"_a.none(), "vt"_a.none());
    m.def("solve", &solve, "session"_a, "dtype"_a, "a"_a, "b"_a, "x"_a);
    m.def("eigh", &eigh, "session"_a, "dtype"_a, "a"_a, "w"_a, "v"_a.none());
    m.def("qr", &qr, "session"_a, "dtype"_a, "a"_a, "q"_a, "r"_a);
    m.def("map", &map, "session"_a, "dtype"_a, "expression"_a, "inputs"_a, "out"_a);
    m.def("reduce", &reduce, "session"_a, "dtype"_a, "reduction"_a, "expression"_a, "inputs"_a);
    m.def("reduce_axis", &reduce_axis, "session"_a, "dtype"_a, "reduction"_a, "input"_a, "out"_a);
}

}  // namespace glint::python
