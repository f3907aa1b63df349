// Maps and reductions of expressions on the CPU or the GPU; transfers of arrays.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <deque>
#include <limits>

#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/evaluate.hpp"
#include "arrays/on_host.hpp"
#include "arrays/transfer.hpp"
#include "glint/error.hpp"
#include "glint/gpu/managed.hpp"

namespace glint::arrays {
namespace {

template <class T>
void require_number(const Program& program, const std::vector<Operand<const T>>& inputs) {
    if (program.inputs > int(inputs.size()))
        throw OptionError("the expression reads input " + std::to_string(program.inputs - 1) + ", and " +
                          std::to_string(inputs.size()) + " inputs were given");
    if (inputs.size() > max_inputs)
        throw OptionError(std::to_string(inputs.size()) + " inputs: at most " + std::to_string(max_inputs));
}

template <class T>
void require_steps(const Program& program) {
    for (int k = 0; k < program.count; ++k)
        if (std::is_integral_v<T> && !is_of_integers(program.instructions[k].step))
            throw OptionError(
                "step " + std::to_string(k) +
                " of the expression is a root, an exponential or an angle, which integers do not support: "
                "convert them to float64 first");
}

template <class T>
void require_inputs(const std::vector<Operand<const T>>& inputs, const Shape& shape) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
        if (!(inputs[k].shape() == shape) && inputs[k].shape().count() != 1)
            refuse("input " + std::to_string(k), words(shape) + " or one element is needed", inputs[k].shape());
}

template <class T>
Residency residency_of(const std::vector<Operand<const T>>& inputs, bool result_on_gpu) {
    Residency at;
    for (const Operand<const T>& input : inputs) at.inputs_on_gpu = at.inputs_on_gpu || input.on_device();
    at.result_on_gpu = result_on_gpu;
    return at;
}

template <class T>
struct InputsOnHost {
    InputsOnHost(Session& session, const std::vector<Operand<const T>>& inputs) {
        for (const Operand<const T>& input : inputs) {
            held.emplace_back(session, input);
            views.push_back(held.back().view());
        }
    }
    std::deque<InputOnHost<T>> held;
    std::vector<View<const T>> views;
};

/// Returns the shape to reduce: that of the inputs with more than one element.
template <class T>
Shape common_shape(const std::vector<Operand<const T>>& inputs) {
    if (inputs.empty()) throw OptionError("a reduction without inputs");
    Shape shape = inputs.front().shape();
    for (const Operand<const T>& input : inputs)
        if (shape.count() == 1) shape = input.shape();
    require_inputs(inputs, shape);
    return shape;
}

double of_nothing(Reduction reduction) {
    if (reduction == Reduction::sum) return 0;
    if (reduction == Reduction::mean) return std::numeric_limits<double>::quiet_NaN();
    throw OptionError("the minimum and maximum of no elements do not exist");
}

}  // namespace

template <class T>
void map(Session& session, const Program& program, const std::vector<Operand<const T>>& inputs, const Operand<T>& out) {
    require_number(program, inputs);
    require_steps<T>(program);
    require_inputs(inputs, out.shape());
    if (out.shape().count() == 0) return;
    session.run(
        map_work<T>(program, out.shape(), residency_of(inputs, out.on_device())),
        [&] {
            const InputsOnHost<T> x(session, inputs);
            ResultOnHost<T> y(session, out);
            cpu::map<T>(program, x.views, y.view(), session.threads());
            y.finish();
        },
        [&] { on_gpu(session).template map<T>(program, inputs, out); });
}

template <class T>
double reduce(Session& session, Reduction reduction, const Program& program,
              const std::vector<Operand<const T>>& inputs) {
    require_number(program, inputs);
    if (reduction > Reduction::maximum)
        throw OptionError("products and positions of all elements: use reduce_axis() or find_along_axis()");
    const Shape shape = common_shape(inputs);
    if (shape.count() == 0) return of_nothing(reduction);
    double result = 0;
    session.run(
        reduce_work<T>(program, shape, residency_of(inputs, false)),
        [&] {
            const InputsOnHost<T> x(session, inputs);
            result = cpu::reduce<T>(reduction, program, x.views, shape, session.threads());
        },
        [&] { result = on_gpu(session).template reduce<T>(reduction, program, inputs, shape); });
    return result;
}

template <class T>
DeviceArray<T> empty_on_device(Session& session, const Shape& shape, bool unified) {
    const std::size_t n = std::size_t(shape.count());
    if (unified) return {gpu::Managed<T>(session.context(), n).buffer(), shape};
    return {gpu::Buffer<T>(session.stream(), n), shape};
}

template <class T>
DeviceArray<T> to_device(Session& session, const View<const T>& view) {
    DeviceArray<T> array = empty_on_device<T>(session, view.shape);
    session.note_copy(array.buffer.bytes(), 0);
    if (view.is_contiguous()) {
        gpu::upload(session.stream(), array.buffer, {view.data, std::size_t(view.shape.count())});
        return array;
    }
    std::vector<T> packed(std::size_t(view.shape.count()));
    copy_elements(view, View<T>(packed.data(), view.shape));
    gpu::upload(session.stream(), array.buffer, packed);
    session.stream().synchronize();
    return array;
}

template <class T>
void to_host(Session& session, const DeviceArray<T>& array, const View<T>& out) {
    require_shape("to_host: out", array.shape, out.shape);
    if (array.shape.count() == 0) return;
    session.note_copy(0, array.buffer.bytes());
    if (out.is_contiguous()) {
        gpu::download(session.stream(), {out.data, std::size_t(out.shape.count())}, array.buffer);
        session.stream().synchronize();
        return;
    }
    std::vector<T> packed(std::size_t(out.shape.count()));
    gpu::download(session.stream(), packed, array.buffer);
    session.stream().synchronize();
    copy_elements(View<const T>(packed.data(), out.shape), out);
}

template <class T>
void copy(Session& session, const Operand<const T>& from, const DeviceArray<T>& to) {
    require_shape("copy: to", from.shape(), to.shape);
    if (to.shape.count() == 0) return;
    gpu::Buffer<T> target = to.buffer;
    if (from.on_device()) return gpu::copy(session.stream(), target, from.device_array().buffer);
    session.note_copy(target.bytes(), 0);
    upload(session.stream(), target, from.view(), 0, to.shape.count());
    session.stream().synchronize();
}

#define GLINT_MOVES(T)                                                         \
    template DeviceArray<T> empty_on_device<T>(Session&, const Shape&, bool);  \
    template DeviceArray<T> to_device<T>(Session&, const View<const T>&);      \
    template void to_host<T>(Session&, const DeviceArray<T>&, const View<T>&); \
    template void copy<T>(Session&, const Operand<const T>&, const DeviceArray<T>&);
#define GLINT_ELEMENTWISE(T)                                                                                 \
    template void map<T>(Session&, const Program&, const std::vector<Operand<const T>>&, const Operand<T>&); \
    template double reduce<T>(Session&, Reduction, const Program&, const std::vector<Operand<const T>>&);
template void map<std::int64_t>(Session&, const Program&, const std::vector<Operand<const std::int64_t>>&,
                                const Operand<std::int64_t>&);
GLINT_MOVES(std::int64_t)
GLINT_ELEMENTWISE(float)
GLINT_ELEMENTWISE(double)
GLINT_MOVES(float)
GLINT_MOVES(double)
GLINT_MOVES(std::complex<float>)
GLINT_MOVES(std::complex<double>)

}  // namespace glint::arrays
