// Reductions along an axis on the CPU or the GPU; views of GPU memory, and copies between views.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>

#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/on_host.hpp"
#include "arrays/reduction.hpp"
#include "glint/arrays/device_view.hpp"
#include "glint/error.hpp"
#include "glint/gpu/managed.hpp"

namespace glint::arrays {
namespace {

constexpr const char* names[type_count] = {"bool",    "int8",    "int16",     "int32",     "int64",
                                           "uint8",   "uint16",  "uint32",    "uint64",    "float16",
                                           "float32", "float64", "complex64", "complex128"};

template <class T, class R>
void reduce(Session& session, Reduction reduction, const Operand<const T>& in, const Operand<R>& out) {
    const Shape& shape = in.shape();
    if (shape.dimensions != 3) refuse("reduce_axis: in", "three dimensions are needed: (outer, n, inner)", shape);
    require_shape("reduce_axis: out", {shape[0], shape[2]}, out.shape());
    if (out.shape().count() == 0) return;
    if (shape[1] == 0) refuse("reduce_axis: in", "at least one element along the axis is needed", shape);
    session.run(
        reduce_axis_work<T>(shape, residency<T>({&in}, out.on_device())),
        [&] {
            const InputOnHost<T> x(session, in);
            ResultOnHost<R> y(session, out);
            cpu::reduce_axis<T, R>(reduction, x.view(), y.view(), session.threads());
            y.finish();
        },
        [&] { on_gpu(session).template reduce_axis<T, R>(reduction, in, out); });
}

void require_alike(const DeviceView& from, const DeviceView& to) {
    from.require_inside(), to.require_inside();
    if (from.shape != to.shape) throw OptionError("a copy between arrays of different shapes");
}

}  // namespace

const char* to_name(Type type) { return names[int(type)]; }

Type type_named(const char* name) {
    for (int k = 0; k < type_count; ++k)
        if (std::strcmp(names[k], name) == 0) return Type(k);
    throw OptionError("arrays of " + std::string(name) +
                      " are not possible on a GPU: give bool, an integer of 8 to 64 bits, "
                      "float16, float32, float64, complex64 or complex128");
}

std::int64_t DeviceView::count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
}

bool DeviceView::is_contiguous() const {
    std::int64_t apart = 1;
    for (std::size_t k = shape.size(); k-- > 0; apart *= shape[k])
        if (shape[k] > 1 && strides[k] != apart) return count() == 0;
    return true;
}

void DeviceView::require_inside() const {
    if (shape.size() != strides.size() || shape.size() > max_view_dimensions)
        throw OptionError("an array of " + std::to_string(shape.size()) + " dimensions with " +
                          std::to_string(strides.size()) + " strides: at most " + std::to_string(max_view_dimensions));
    std::int64_t least = first, greatest = first;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (shape[k] < 0) throw OptionError("an array with an extent of " + std::to_string(shape[k]));
        if (shape[k] == 0) return;
        (strides[k] < 0 ? least : greatest) += (shape[k] - 1) * strides[k];
    }
    const std::int64_t elements = std::int64_t(memory.bytes()) / num_bytes(type);
    if (least < 0 || greatest >= elements)
        throw OptionError("elements " + std::to_string(least) + " to " + std::to_string(greatest) + " of a memory of " +
                          std::to_string(elements));
}

DeviceView empty_view(Session& session, Type type, const std::vector<std::int64_t>& shape, bool unified) {
    DeviceView view{.type = type, .shape = shape, .strides = std::vector<std::int64_t>(shape.size())};
    std::int64_t apart = 1, most = std::numeric_limits<std::int64_t>::max() / num_bytes(type);
    for (std::size_t k = shape.size(); k-- > 0; apart *= shape[k]) {
        view.strides[k] = apart;
        if (shape[k] > 0 && (most /= shape[k]) == 0) throw OptionError("an array of more elements than can be counted");
    }
    const auto bytes = std::size_t(std::max<std::int64_t>(0, view.count() * num_bytes(type)));
    view.memory = unified ? gpu::Managed<std::byte>(session.context(), bytes).buffer()
                          : gpu::Buffer<std::byte>(session.stream(), bytes);
    view.require_inside();
    return view;
}

void copy_on_device(Session& session, const DeviceView& from, const DeviceView& to) {
    require_alike(from, to);
    if (from.count() > 0) on_gpu(session).copy(from, to);
}

void take_on_device(Session& session, const DeviceView& from, int axis, const DeviceView& at, const DeviceView& to) {
    for (const DeviceView* view : {&from, &at, &to}) {
        view->require_inside();
        if (!view->is_contiguous()) throw OptionError("take: an array with gaps, but one in C order is needed");
    }
    std::vector<std::int64_t> expected = from.shape;
    if (axis < 0 || axis >= int(expected.size()))
        throw OptionError("take: axis " + std::to_string(axis) + " of an array of " + std::to_string(expected.size()) +
                          " dimensions");
    if (at.type != Type::int64 || at.shape.size() != 1) throw OptionError("take: positions are int64 in one dimension");
    expected[std::size_t(axis)] = at.shape[0];
    if (to.shape != expected || to.type != from.type) throw OptionError("take: the result has another shape or type");
    if (to.count() > 0) on_gpu(session).take(from, axis, at, to);
}

template <class T>
void reduce_axis(Session& session, Reduction reduction, const Operand<const T>& in, const Operand<T>& out) {
    if (is_position(reduction)) throw OptionError("positions are found by find_along_axis()");
    if (std::is_integral_v<T> && reduction == Reduction::mean)
        throw OptionError("the mean of integers: convert them to float64 first");
    reduce<T, T>(session, reduction, in, out);
}

template <class T>
void find_along_axis(Session& session, Reduction reduction, const Operand<const T>& in,
                     const Operand<std::int64_t>& out) {
    if (!is_position(reduction)) throw OptionError("find_along_axis() finds Reduction::argmin or argmax");
    reduce<T, std::int64_t>(session, reduction, in, out);
}

#define GLINT_AXES(T)                                                                           \
    template void reduce_axis(Session&, Reduction, const Operand<const T>&, const Operand<T>&); \
    template void find_along_axis(Session&, Reduction, const Operand<const T>&, const Operand<std::int64_t>&);
GLINT_AXES(float)
GLINT_AXES(double)
GLINT_AXES(std::int64_t)
#undef GLINT_AXES

}  // namespace glint::arrays
