// Computes the work of operations for the cost model, without running them.
// SPDX-License-Identifier: MIT
#include "works.hpp"

#include "device_array.hpp"

#include <deque>
#include <mutex>

#include "glint/error.hpp"

namespace glint::python {
namespace {

template <class T>
offload::Work work_of(const std::string& name, const std::vector<arrays::Shape>& shapes,
                      const arrays::Expression& expression, const arrays::Residency& at) {
    const arrays::Shape& shape = shapes.at(0);
    if (name == "matmul") return arrays::matmul_work<T>(shape, shapes.at(1), at);
    if (name == "fft") return arrays::fft_work<T>(shape, 1, false, at);
    if (name == "fft2") return arrays::fft_work<T>(shape, 2, false, at);
    if (name == "rfft") return arrays::fft_work<T>(shape, 1, true, at);
    if (name == "rfft2") return arrays::fft_work<T>(shape, 2, true, at);
    if (name == "svd") return arrays::svd_work<T>(shape, true, at);
    if (name == "svdvals") return arrays::svd_work<T>(shape, false, at);
    if (name == "solve") return arrays::solve_work<T>(shape, shapes.at(1)[1], at);
    if (name == "eigh") return arrays::eigh_work<T>(shape, true, at);
    if (name == "eigvalsh") return arrays::eigh_work<T>(shape, false, at);
    if (name == "qr") return arrays::qr_work<T>(shape, at);
    if (name == "map") return arrays::map_work<T>(arrays::compile(expression), shape, at);
    if (name == "reduce") return arrays::reduce_work<T>(arrays::compile(expression), shape, at);
    throw OptionError("no operation is called " + name);
}

}  // namespace

offload::Work array_work(const std::string& name, const std::vector<std::vector<std::int64_t>>& extents,
                         bool double_precision, const arrays::Expression& expression, bool inputs_on_gpu,
                         bool result_on_gpu, double expected_reuse) {
    std::vector<arrays::Shape> shapes;
    for (const auto& one : extents) shapes.push_back(shape_of(one));
    const arrays::Residency at{inputs_on_gpu, result_on_gpu, expected_reuse};
    return double_precision ? work_of<double>(name, shapes, expression, at)
                            : work_of<float>(name, shapes, expression, at);
}

/// Operations live as long as the process, because objects that refer to them may.
const offload::Operation* own_operation(const std::string& name, const std::string& unit, double flops_power,
                                        double bytes_power, double rule_size) {
    struct Named {
        std::string name, unit;
        offload::Operation operation;
        Named(const std::string& n, const std::string& u, double flops, double bytes, double rule)
            : name(n), unit(u), operation(name, unit, flops, bytes, rule) {}
    };
    static std::mutex mutex;
    static std::deque<Named> all;
    const std::lock_guard lock(mutex);
    for (const Named& known : all)
        if (known.name == name && known.unit == unit && known.operation.flops_power == flops_power &&
            known.operation.bytes_power == bytes_power && known.operation.rule_size == rule_size)
            return &known.operation;
    return &all.emplace_back(name, unit, flops_power, bytes_power, rule_size).operation;
}

}  // namespace glint::python
