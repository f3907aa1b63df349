// Does operations on arrays for judges in Python: `array_worker FOLDER --backend cpu` reads FOLDER/jobs.json, raw
// elements from the files it names, and writes results beside them. One JSON line a job: {}, {"number": ...} or
// {"error": ...}.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <complex>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arrays/cpu.hpp"
#include "glint/arrays/operations.hpp"

namespace {

using nlohmann::json;
namespace arrays = glint::arrays;
using arrays::Expression;
using arrays::View;

constexpr const char* step_names[] = {"constant",    "input",      "add",       "subtract", "multiply",
                                      "divide",      "power",      "minimum",   "maximum",  "remainder",
                                      "atan2",       "hypot",      "negate",    "absolute", "square",
                                      "square_root", "reciprocal", "exp",       "log",      "log2",
                                      "log10",       "log1p",      "expm1",     "sin",      "cos",
                                      "tan",         "asin",       "acos",      "atan",     "sinh",
                                      "cosh",        "tanh",       "erf",       "floor",    "ceil",
                                      "round",       "trunc",      "sign",      "is_nan",   "less",
                                      "less_equal",  "equal",      "not_equal", "select",   "fused_multiply_add"};

/// A number, {"input": k}, or ["add", a, b].
Expression expression_of(const json& tree) {
    if (tree.is_number()) return tree.get<double>();
    if (tree.is_object()) return arrays::input(tree.at("input"));
    const auto found = std::find(std::begin(step_names), std::end(step_names), tree.at(0).get<std::string>());
    if (found == std::end(step_names)) throw std::runtime_error("no such step: " + tree.at(0).dump());
    std::vector<Expression> operands;
    for (std::size_t k = 1; k < tree.size(); ++k) operands.push_back(expression_of(tree[k]));
    return Expression(std::make_shared<const Expression::Node>(
        Expression::Node{arrays::Step(found - std::begin(step_names)), 0, operands}));
}

/// {"file", "shape", "strides", "offset", "size"}: all in elements; `size`, of an output: of its memory.
template <class T>
struct Array {
    std::vector<T> memory;
    View<T> view;
    std::string path;

    Array(const std::string& folder, const json& what, bool read)
        : path(folder + "/" + what.at("file").get<std::string>()) {
        if (read) {
            std::ifstream in(path, std::ios::binary | std::ios::ate);
            memory.resize(std::size_t(in.tellg()) / sizeof(T));
            in.seekg(0);
            in.read(reinterpret_cast<char*>(memory.data()), std::streamsize(memory.size() * sizeof(T)));
        } else {
            memory.resize(what.at("size"), T(std::numeric_limits<double>::quiet_NaN()));
        }
        arrays::Shape shape;
        arrays::Strides strides{};
        for (const json& n : what.at("shape")) shape.extent[shape.dimensions++] = n;
        for (int k = 0; k < shape.dimensions; ++k) strides[k] = what.at("strides")[k];
        view = {memory.data() + what.at("offset").get<std::int64_t>(), shape, strides};
    }
    void write() const {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(memory.data()), std::streamsize(memory.size() * sizeof(T)));
    }
};

template <class T>
struct Job {
    const std::string& folder;
    const json& what;

    template <class E = T>
    Array<E> in(int k) const {
        return {folder, what.at("inputs").at(k), true};
    }
    template <class E = T>
    Array<E> out(int k) const {
        return {folder, what.at("outputs").at(k), false};
    }
    std::vector<Array<T>> all_in() const {
        std::vector<Array<T>> all;
        for (std::size_t k = 0; k < what.at("inputs").size(); ++k) all.push_back(in(int(k)));
        return all;
    }
};

/// The functions of cpu.hpp.
template <class T>
struct OnCpu {
    using Complex = std::complex<T>;
    int threads;

    void matmul(const View<const T>& a, const View<const T>& b, const View<T>& c) const {
        arrays::cpu::matmul<T>(a, b, c, threads);
    }
    void fft(const View<const Complex>& in, const View<Complex>& out, const arrays::FftOptions& options) const {
        arrays::cpu::fft<T>(in, out, options, threads);
    }
    void rfft(const View<const T>& in, const View<Complex>& out, int rank) const {
        arrays::cpu::rfft<T>(in, out, rank, threads);
    }
    void irfft(const View<const Complex>& in, const View<T>& out, int rank) const {
        arrays::cpu::irfft<T>(in, out, rank, threads);
    }
    void svd(const View<const T>& a, const View<T>& s, const View<T>* u, const View<T>* vt) const {
        arrays::cpu::svd<T>(a, s, u, vt, threads);
    }
    void map(const Expression& expression, const std::vector<View<const T>>& inputs, const View<T>& out) const {
        arrays::cpu::map<T>(compile(expression), inputs, out, threads);
    }
    double reduce(arrays::Reduction how, const Expression& expression, const std::vector<View<const T>>& inputs,
                  const arrays::Shape& shape) const {
        return arrays::cpu::reduce<T>(how, compile(expression), inputs, shape, threads);
    }
};

template <class T, class Backend>
json run(const Job<T>& job, const Backend& backend) {
    using Complex = std::complex<T>;
    const std::string operation = job.what.at("operation");
    const int rank = job.what.value("rank", 1);
    if (operation == "matmul") {
        const auto a = job.in(0), b = job.in(1), c = job.out(0);
        backend.matmul(a.view, b.view, c.view);
        c.write();
    } else if (operation == "fft" || operation == "ifft") {
        const auto in = job.template in<Complex>(0), out = job.template out<Complex>(0);
        backend.fft(in.view, out.view, {.rank = rank, .inverse = operation == "ifft"});
        out.write();
    } else if (operation == "rfft") {
        const auto in = job.in(0);
        const auto out = job.template out<Complex>(0);
        backend.rfft(in.view, out.view, rank);
        out.write();
    } else if (operation == "irfft") {
        const auto in = job.template in<Complex>(0);
        const auto out = job.out(0);
        backend.irfft(in.view, out.view, rank);
        out.write();
    } else if (operation == "svd") {
        const auto a = job.in(0), s = job.out(0);
        if (job.what.at("outputs").size() == 1) {
            backend.svd(a.view, s.view, nullptr, nullptr);
        } else {
            const auto u = job.out(1), vt = job.out(2);
            backend.svd(a.view, s.view, &u.view, &vt.view);
            u.write(), vt.write();
        }
        s.write();
    } else {
        const Expression expression = expression_of(job.what.at("expression"));
        const std::vector<Array<T>> arrays = job.all_in();
        std::vector<View<const T>> views;
        arrays::Shape shape;
        for (const Array<T>& array : arrays) {
            views.push_back(array.view);
            if (array.view.shape.count() > 1 || shape.dimensions == 0) shape = array.view.shape;
        }
        if (operation == "map") {
            const auto out = job.out(0);
            backend.map(expression, views, out.view);
            out.write();
            return json::object();
        }
        const arrays::Reduction how = operation == "sum"       ? arrays::Reduction::sum
                                      : operation == "mean"    ? arrays::Reduction::mean
                                      : operation == "minimum" ? arrays::Reduction::minimum
                                                               : arrays::Reduction::maximum;
        char text[64];  // JSON knows neither NaN nor infinity
        std::snprintf(text, sizeof text, "%.17g", backend.reduce(how, expression, views, shape));
        return {{"number", text}};
    }
    return json::object();
}

template <class T>
json run_on(const std::string& backend, const std::string& folder, const json& what) {
    const Job<T> job{folder, what};
    if (backend == "cpu") return run(job, OnCpu<T>{what.value("threads", 0)});
    throw std::runtime_error("no such backend: " + backend);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 || argv[2] != std::string("--backend"))
        return std::fputs("array_worker FOLDER --backend cpu\n", stderr), 2;
    const std::string folder = argv[1], backend = argv[3];
    for (const json& what : json::parse(std::ifstream(folder + "/jobs.json"))) {
        json answer;
        try {
            answer = what.at("type") == "float32" ? run_on<float>(backend, folder, what)
                                                  : run_on<double>(backend, folder, what);
        } catch (const glint::Error& error) {
            answer = {{"error", error.what()}};
        }
        std::cout << answer.dump() << "\n";
    }
}
