// Interprets a program on blocks of elements that fit into the L1 cache: one dispatch per step and block.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "arrays/cpu_steps.hpp"
#include "arrays/cpu_walk.hpp"
#include "arrays/evaluate.hpp"

namespace glint::arrays::cpu {

template <class T>
constexpr std::int64_t block_elements = 4096 / sizeof(T);

/// A program with its inputs. Inputs of one element are broadcast.
template <class T>
struct BoundProgram {
    BoundProgram(const Program& steps, std::span<const View<const T>> views, const Shape& shape, const View<T>* result)
        : program(steps), inputs(views), out(result), walk(walk_of(shape, views, result)) {
        int next = result ? 1 : 0;
        for (std::size_t k = 0; k < views.size(); ++k) in_walk[k] = varies(views[k], shape) ? next++ : -1;
        int writes[max_registers] = {};
        for (int i = 0; i < program.count; ++i) ++writes[program.instructions[i].to];
        for (int r = 0; r < max_registers; ++r) written_once[r] = writes[r] == 1;
    }

    static bool varies(const View<const T>& view, const Shape& shape) {
        return view.shape.count() > 1 || shape.count() == 1;
    }

    static Walk walk_of(const Shape& shape, std::span<const View<const T>> views, const View<T>* result) {
        const Strides* strides[Walk::max_arrays];
        int n = 0;
        if (result) strides[n++] = &result->strides;
        Strides none{};
        for (const View<const T>& view : views)
            if (varies(view, shape)) strides[n++] = view.shape == shape ? &view.strides : &none;
        return Walk(shape, {strides, std::size_t(n)});
    }

    const Program& program;
    std::span<const View<const T>> inputs;
    const View<T>* out;
    Walk walk;
    int in_walk[max_inputs] = {};  // an input's number in the walk; -1: it has one element
    bool written_once[max_registers];
};

/// One thread's registers. Blocks are computed one after the other.
template <class T>
class Blocks {
  public:
    explicit Blocks(const BoundProgram<T>& bound) : bound_(bound), loops_(step_loops<T>()) {}

    /// Computes elements first to first + n - 1, n <= block_elements, and returns their address. `out` may stay
    /// unwritten if the result is an input or a constant.
    const T* run(std::int64_t first, std::int64_t n, T* out) {
        const std::int64_t padded = (n + step_group - 1) / step_group * step_group;
        const Program& program = bound_.program;
        for (int i = 0; i < program.count; ++i) {
            const Instruction& it = program.instructions[i];
            if (it.step == Step::input) {
                at_[it.to] = input(it.a, first, n, padded);
            } else if (it.step == Step::constant) {
                if (filled_ >= padded && bound_.written_once[it.to]) continue;
                std::fill_n(registers_[it.to], padded, T(it.value));
                at_[it.to] = registers_[it.to];
            } else {
                T* to = i + 1 == program.count && out && padded == n ? out : registers_[it.to];
                loops_.step(it, to, at_[it.a], at_[it.b], at_[it.c], padded);
                at_[it.to] = to;
            }
        }
        filled_ = std::max(filled_, padded);
        return at_[program.instructions[program.count - 1].to];
    }

  private:
    const T* input(int k, std::int64_t first, std::int64_t n, std::int64_t padded) {
        T* to = gathered_[k];
        const T* from = bound_.inputs[k].data;
        const int number = bound_.in_walk[k];
        if (number < 0) {
            if (filled_ < padded) std::fill_n(to, padded, *from);
            return to;
        }
        if (bound_.walk.contiguous(number)) {
            if (n == padded) return from + first;
            std::copy_n(from + first, n, to);
        } else {
            bound_.walk.for_each_run(number, first, n, [&](auto at, auto offset, auto apart, auto length) {
                if (apart == 1)
                    std::copy_n(from + offset, length, to + at);
                else
                    for (std::int64_t i = 0; i < length; ++i) to[at + i] = from[offset + i * apart];
            });
        }
        std::fill(to + n, to + padded, to[n - 1]);
        return to;
    }

    const BoundProgram<T>& bound_;
    StepLoops<T> loops_;
    std::int64_t filled_ = 0;  // elements of values that are the same in all blocks
    const T* at_[max_registers] = {};
    alignas(64) T registers_[max_registers][block_elements<T>];
    alignas(64) T gathered_[max_inputs][block_elements<T>];
};

}  // namespace glint::arrays::cpu
