// An operand of a matrix product whose parts are uploaded to a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "arrays/transfer.hpp"

namespace glint::arrays {

/// A range along one dimension.
struct Range {
    std::int64_t first = 0, n = 0;
    bool operator==(const Range&) const = default;
};

/// A part of a stack of matrices: one index of the outer dimension, and ranges of the inner dimension, of rows and of
/// columns.
struct Part {
    std::int64_t outer = 0;
    Range inner, rows, columns;
    bool operator==(const Part&) const = default;
};

/// The description of an operand for cuBLAS. Distances are in elements.
struct BlasOperand {
    std::uint64_t address = 0;
    int op = lib::cublas::as_it_is;
    std::int64_t leading = 0, apart = 0;
};

/// An operand as two nested stacks of matrices. T is const for inputs.
template <class T>
class Matrices {
    using Element = std::remove_const_t<T>;

  public:
    /// `operand` must outlive it. `stack`: the extents of the result before its matrices. A distance of 0 repeats the
    /// matrix.
    Matrices(const Operand<T>& operand, const std::array<std::int64_t, 2>& stack) : operand_(&operand) {
        const Shape& shape = operand.shape();
        const Strides strides = operand.on_device() ? contiguous(shape) : operand.view().strides;
        const int last = shape.dimensions - 1;
        row_ = strides[last - 1], column_ = strides[last];
        for (int k = 0; k < 2; ++k)
            if (const int d = last - 3 + k; d >= 0 && shape[d] > 1 && stack[k] > 1) apart_[k] = strides[d];
    }
    bool on_device() const { return operand_->on_device(); }
    /// Whether both stacks can be merged into one, of inner * outer matrices.
    bool merges(const std::array<std::int64_t, 2>& stack) const { return apart_[0] == apart_[1] * stack[1]; }
    void merge() { apart_[0] = 0; }
    void swap_stacks() { std::swap(apart_[0], apart_[1]); }
    bool repeats() const { return apart_[1] == 0; }  ///< along the inner dimension

    /// Allocates room for parts of an operand on the host.
    void reserve(const gpu::Stream& stream, std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
        release();
        if (on_device())
            buffer_ = operand_->device_array().buffer;
        else
            buffer_ = gpu::Buffer<Element>(stream, std::size_t((repeats() ? 1 : matrices) * rows * columns));
    }
    void release() { buffer_ = {}, loaded_ = {}; }

    /// Returns the part for cuBLAS. Uploads the part unless it is the one read last.
    BlasOperand read(const gpu::Stream& stream, const Part& part) {
        if (on_device()) return {buffer_.read_on(stream) + offset(part) * sizeof(T), block_.op, row_, apart_[1]};
        if (!(part == loaded_)) {
            const View<T> lying = view(part);
            View<T> turned = lying;
            std::swap(turned.shape.extent[1], turned.shape.extent[2]);
            std::swap(turned.strides[1], turned.strides[2]);
            const bool turn = !lying.is_contiguous() && turned.is_contiguous();
            upload(stream, buffer_, View<const Element>(turn ? turned : lying), 0, lying.shape.count());
            block_ = {0, turn ? lib::cublas::transposed : lib::cublas::as_it_is, turn ? part.rows.n : part.columns.n,
                      repeats() ? 0 : part.rows.n * part.columns.n};
            loaded_ = part;
        }
        BlasOperand block = block_;
        block.address = buffer_.read_on(stream);
        return block;
    }

    BlasOperand write(const gpu::Stream& stream, const Part& part) {
        if (on_device()) return {buffer_.write_on(stream) + offset(part) * sizeof(T), 0, row_, apart_[1]};
        return {buffer_.write_on(stream), 0, part.columns.n, part.rows.n * part.columns.n};
    }
    void finish(const gpu::Stream& stream, const Part& part) {
        if (on_device()) return;
        const View<T> to = view(part);
        download(stream, to, buffer_, 0, to.shape.count());
    }

  private:
    std::uint64_t offset(const Part& part) const {
        return std::uint64_t(part.outer * apart_[0] + part.inner.first * apart_[1] + part.rows.first * row_ +
                             part.columns.first * column_);
    }
    View<T> view(const Part& part) const {
        return {operand_->view().data + std::int64_t(offset(part)),
                {repeats() ? 1 : part.inner.n, part.rows.n, part.columns.n},
                {apart_[1], row_, column_}};
    }

    const Operand<T>* operand_ = nullptr;
    std::array<std::int64_t, 2> apart_{};
    std::int64_t row_ = 0, column_ = 0;
    gpu::Buffer<Element> buffer_;
    Part loaded_;
    BlasOperand block_;
};

}  // namespace glint::arrays
