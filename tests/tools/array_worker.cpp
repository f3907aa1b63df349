// Runs operations on arrays for reference tests in Python: `array_worker cpu|gpu|resident` (operands on the host, or on
// the GPU). Reads names of folders, one per line. For each, reads FOLDER/jobs.json and the raw elements in the files
// that it names, and writes results beside them. Answers with a JSON line: an array with {}, {"number": ...} or
// {"error": ...} for each job.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <complex>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "glint/arrays/operations.hpp"

namespace {

using nlohmann::json;
namespace arrays = glint::arrays;
using arrays::Expression;
using arrays::Operand;
using arrays::Session;
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

/// Parses a number, {"input": k}, or ["add", a, b].
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

/// {"file", "shape", "strides", "offset", "size"}, all in elements. `size` is the size of an output's memory.
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

/// The public operations in a session, on arrays that are on the GPU if `resident`.
class Calls {
  public:
    Calls(Session& session, bool resident) : session_(session), resident_(resident) {}

    template <class T>
    Operand<const T> input(const View<T>& view) {
        if (!resident_) return View<const T>(view);
        return arrays::to_device<T>(session_, view);
    }
    /// Calls act(operand) and puts the result into `view`.
    template <class T, class Act>
    void result(const View<T>& view, const Act& act) {
        if (!resident_) return act(Operand<T>(view));
        const arrays::DeviceArray<T> there = arrays::empty_on_device<T>(session_, view.shape);
        act(Operand<T>(there));
        arrays::to_host<T>(session_, there, view);
    }
    Session& session() { return session_; }

  private:
    Session& session_;
    const bool resident_;
};

template <class T>
json run(const Job<T>& job, Calls& calls) {
    Session& session = calls.session();
    using Complex = std::complex<T>;
    const std::string operation = job.what.at("operation");
    const int rank = job.what.value("rank", 1);
    if (operation == "matmul") {
        const auto a = job.in(0), b = job.in(1), c = job.out(0);
        const auto x = calls.input(a.view), y = calls.input(b.view);
        calls.result(c.view, [&](const Operand<T>& z) { arrays::matmul<T>(session, x, y, z); });
        c.write();
    } else if (operation == "fft" || operation == "ifft") {
        const auto in = job.template in<Complex>(0), out = job.template out<Complex>(0);
        const auto x = calls.input(in.view);
        calls.result(out.view, [&](const Operand<Complex>& z) {
            arrays::fft<T>(session, x, z, {.rank = rank, .inverse = operation == "ifft"});
        });
        out.write();
    } else if (operation == "rfft") {
        const auto in = job.in(0);
        const auto out = job.template out<Complex>(0);
        const auto x = calls.input(in.view);
        calls.result(out.view, [&](const Operand<Complex>& z) { arrays::rfft<T>(session, x, z, rank); });
        out.write();
    } else if (operation == "irfft") {
        const auto in = job.template in<Complex>(0);
        const auto out = job.out(0);
        const auto x = calls.input(in.view);
        calls.result(out.view, [&](const Operand<T>& z) { arrays::irfft<T>(session, x, z, rank); });
        out.write();
    } else if (operation == "svd") {
        const auto a = job.in(0), s = job.out(0);
        const auto x = calls.input(a.view);
        if (job.what.at("outputs").size() == 1) {
            calls.result(s.view, [&](const Operand<T>& values) { arrays::svd<T>(session, x, values); });
        } else {
            const auto u = job.out(1), vt = job.out(2);
            calls.result(s.view, [&](const Operand<T>& values) {
                calls.result(u.view, [&](const Operand<T>& left) {
                    calls.result(vt.view,
                                 [&](const Operand<T>& right) { arrays::svd<T>(session, x, values, left, right); });
                });
            });
            u.write(), vt.write();
        }
        s.write();
    } else {
        const Expression expression = expression_of(job.what.at("expression"));
        const std::vector<Array<T>> arrays = job.all_in();
        std::vector<Operand<const T>> inputs;
        for (const Array<T>& array : arrays) inputs.push_back(calls.input(array.view));
        if (operation == "map") {
            const auto out = job.out(0);
            calls.result(out.view, [&](const Operand<T>& z) { arrays::map<T>(session, expression, inputs, z); });
            out.write();
            return json::object();
        }
        const arrays::Reduction how = operation == "sum"       ? arrays::Reduction::sum
                                      : operation == "mean"    ? arrays::Reduction::mean
                                      : operation == "minimum" ? arrays::Reduction::minimum
                                                               : arrays::Reduction::maximum;
        char text[64];  // JSON knows neither NaN nor infinity
        std::snprintf(text, sizeof text, "%.17g", arrays::reduce<T>(session, how, expression, inputs));
        return {{"number", text}};
    }
    return json::object();
}

/// Returns the session for a number of threads.
Session& session_for(const std::string& backend, int threads) {
    static std::map<int, Session> sessions;
    const auto found = sessions.find(threads);
    if (found != sessions.end()) return found->second;
    glint::offload::SessionOptions options;
    options.choice = backend == "cpu" ? glint::Backend::cpu : glint::Backend::gpu;
    options.threads = threads, options.gpu_timeout_s = 60;
    options.oom_safe = false;  // errors of the GPU must be visible
    return sessions.emplace(threads, options).first->second;
}

template <class T>
json run_in(const std::string& backend, const std::string& folder, const json& what) {
    Calls calls(session_for(backend, what.value("threads", 0)), backend == "resident");
    return run(Job<T>{folder, what}, calls);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string backend = argc == 2 ? argv[1] : "";
    if (backend != "cpu" && backend != "gpu" && backend != "resident")
        return std::fputs("array_worker cpu|gpu|resident < FOLDERS\n", stderr), 2;
    for (std::string folder; std::getline(std::cin, folder);) {
        json answers = json::array();
        for (const json& what : json::parse(std::ifstream(folder + "/jobs.json"))) try {
                const bool single = what.at("type").get<std::string>() == "float32";
                answers.push_back(single ? run_in<float>(backend, folder, what)
                                         : run_in<double>(backend, folder, what));
            } catch (const glint::Error& error) {
                answers.push_back({{"error", error.what()}});
            }
        std::cout << answers.dump() << std::endl;
    }
}
