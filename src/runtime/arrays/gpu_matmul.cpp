// Matrix products on a GPU, by cuBLAS; in tiles if they do not fit.
//
// cuBLAS uses columns: a row-major matrix is its transpose there, so c = a b is computed as c^T = b^T a^T.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_matrices.hpp"

namespace glint::arrays {
namespace {

lib::Status gemm(lib::Blas handle, int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                 std::int64_t lda, std::int64_t stride_a, const float* b, std::int64_t ldb, std::int64_t stride_b,
                 float beta, float* c, std::int64_t ldc, std::int64_t stride_c, std::int64_t count) {
    const float one = 1;
    if (count == 1) return cublas().cublasSgemm_v2_64(handle, op_a, op_b, m, n, k, &one, a, lda, b, ldb, &beta, c, ldc);
    return cublas().cublasSgemmStridedBatched_64(handle, op_a, op_b, m, n, k, &one, a, lda, stride_a, b, ldb, stride_b,
                                                 &beta, c, ldc, stride_c, count);
}
lib::Status gemm(lib::Blas handle, int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                 std::int64_t lda, std::int64_t stride_a, const double* b, std::int64_t ldb, std::int64_t stride_b,
                 double beta, double* c, std::int64_t ldc, std::int64_t stride_c, std::int64_t count) {
    const double one = 1;
    if (count == 1) return cublas().cublasDgemm_v2_64(handle, op_a, op_b, m, n, k, &one, a, lda, b, ldb, &beta, c, ldc);
    return cublas().cublasDgemmStridedBatched_64(handle, op_a, op_b, m, n, k, &one, a, lda, stride_a, b, ldb, stride_b,
                                                 &beta, c, ldc, stride_c, count);
}

/// The extents of one tile.
struct Tile {
    std::int64_t matrices, rows, columns, depth;
};

template <class T>
class Product {
  public:
    Product(OnGpu::State& state, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c)
        : state_(state), stack_(stack_of(c.shape())), a_(a, stack_), b_(b, stack_), c_(c, stack_) {
        const Shape &of_a = a.shape(), &of_c = c.shape();
        m_ = of_c[of_c.dimensions - 2], n_ = of_c[of_c.dimensions - 1], k_ = of_a[of_a.dimensions - 1];
        if (a_.merges(stack_) && b_.merges(stack_) && c_.merges(stack_)) {
            a_.merge(), b_.merge(), c_.merge();
            stack_ = {1, stack_[0] * stack_[1]};
        } else if (stack_[1] < stack_[0]) {  // cuBLAS iterates over the longer one
            a_.swap_stacks(), b_.swap_stacks(), c_.swap_stacks();
            std::swap(stack_[0], stack_[1]);
        }
        waits_ = c_.on_device() && !(a_.on_device() && b_.on_device());
    }

    void run() {
        state_.ready_blas(state_.stream);  // later there may be no memory for its workspace
        if (can_go_by_rows()) try {
                return run_by_rows();
            } catch (const gpu::OutOfMemory&) {
                b_.release();
            }
        Tile tile{stack_[1], m_, n_, k_};
        while (const std::int64_t wanted = bytes(tile))
            if (wanted <= std::int64_t(state_.room()) || !halve(tile)) break;
        for (;;) try {
                run_in(tile);
                if (waits_) state_.stream.synchronize();  // the caller may reuse pinned inputs
                return;
            } catch (const gpu::OutOfMemory&) {
                wait_quietly(state_);
                if (!halve(tile)) throw;
            } catch (...) {
                wait_quietly(state_);
                throw;
            }
    }

  private:
    static std::array<std::int64_t, 2> stack_of(const Shape& c) {
        const int d = c.dimensions;
        return {d > 3 ? c[d - 4] : 1, d > 2 ? c[d - 3] : 1};
    }

    std::int64_t bytes(const Tile& t) const {
        std::int64_t elements = 0;
        if (!a_.on_device()) elements += (a_.repeats() ? 1 : t.matrices) * t.rows * t.depth;
        if (!b_.on_device()) elements += (b_.repeats() ? 1 : t.matrices) * t.depth * t.columns;
        if (!c_.on_device()) elements += t.matrices * t.rows * t.columns;
        return elements * std::int64_t(sizeof(T));
    }

    /// Halves the number of matrices, else the extent that saves most. Returns false at the minimum useful size.
    bool halve(Tile& tile) const {
        constexpr std::int64_t smallest = 64;
        if (tile.matrices > 1) {
            tile.matrices = (tile.matrices + 1) / 2;
            return true;
        }
        Tile best = tile;
        // If extents save equally, halves the rows: b then stays on the GPU.
        for (std::int64_t Tile::*side : {&Tile::rows, &Tile::columns, &Tile::depth}) {
            Tile other = tile;
            if (tile.*side <= smallest) continue;
            other.*side = (tile.*side + 1) / 2;
            if (bytes(other) < bytes(best)) best = other;
        }
        const bool smaller = bytes(best) < bytes(tile);
        tile = best;
        return smaller;
    }

    /// If the host transfers much data and b fits completely: during computing, some rows are uploaded and others
    /// downloaded.
    bool can_go_by_rows() const {
        constexpr std::int64_t much = std::int64_t(32) << 20;
        const Tile few{1, std::min(m_, row_granule), n_, k_}, all{1, m_, n_, k_};
        return stack_[0] * stack_[1] == 1 && !c_.on_device() && bytes(all) > much &&
               bytes(few) < std::int64_t(state_.room()) / 2;
    }

    void run_by_rows() {
        struct PieceBuffers {
            Matrices<const T> a;
            Matrices<T> c;
        };
        b_.reserve(state_.stream, 1, k_, n_);
        const Pieces pieces{.total = m_,
                            .bytes_each = (n_ + (a_.on_device() ? 0 : k_)) * std::int64_t(sizeof(T)),
                            .granule = row_granule,
                            .overlap = true};
        in_pieces(
            state_, pieces,
            [&](const gpu::Stream& stream, std::int64_t rows) {
                PieceBuffers slot{a_, c_};
                slot.a.reserve(stream, 1, rows, k_), slot.c.reserve(stream, 1, rows, n_);
                return slot;
            },
            [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
                const Range rows{first, n}, columns{0, n_}, depth{0, k_}, one{0, 1};
                multiply(stream, slot.a, {0, one, rows, depth}, {0, one, depth, columns}, slot.c,
                         {0, one, rows, columns}, false);
            },
            [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
                slot.c.finish(stream, {0, {0, 1}, {first, n}, {0, n_}});
            });
    }

    void run_in(const Tile& tile) {
        const gpu::Stream& stream = state_.stream;
        a_.reserve(stream, tile.matrices, tile.rows, tile.depth);
        b_.reserve(stream, tile.matrices, tile.depth, tile.columns);
        c_.reserve(stream, tile.matrices, tile.rows, tile.columns);
        const auto each = [](std::int64_t total, std::int64_t step, const auto& action) {
            for (std::int64_t first = 0; first < total; first += step)
                action(Range{first, std::min(step, total - first)});
        };
        for (std::int64_t outer = 0; outer < stack_[0]; ++outer)
            each(stack_[1], tile.matrices, [&](Range inner) {
                each(n_, tile.columns, [&](Range columns) {
                    each(m_, tile.rows, [&](Range rows) {
                        const Part result{outer, inner, rows, columns};
                        each(k_, tile.depth, [&](Range depth) {
                            multiply(stream, a_, {outer, inner, rows, depth}, {outer, inner, depth, columns}, c_,
                                     result, depth.first > 0);
                        });
                        c_.finish(stream, result);
                    });
                });
            });
    }

    void multiply(const gpu::Stream& stream, Matrices<const T>& from, const Part& of_a, const Part& of_b,
                  Matrices<T>& to, const Part& of_c, bool add) {
        const BlasOperand a = from.read(stream, of_a), b = b_.read(stream, of_b), c = to.write(stream, of_c);
        const lib::Blas handle = state_.ready_blas(stream);
        const auto current = state_.current();
        state_.check(
            Library::cublas, "cublasXgemm",
            gemm(handle, b.op, a.op, of_c.columns.n, of_c.rows.n, of_a.columns.n, reinterpret_cast<const T*>(b.address),
                 b.leading, b.apart, reinterpret_cast<const T*>(a.address), a.leading, a.apart, T(add),
                 reinterpret_cast<T*>(c.address), c.leading, c.apart, of_c.inner.n));
    }

    static constexpr std::int64_t row_granule = 128;

    OnGpu::State& state_;
    std::array<std::int64_t, 2> stack_;
    Matrices<const T> a_, b_;
    Matrices<T> c_;
    std::int64_t m_ = 0, n_ = 0, k_ = 0;
    bool waits_ = false;
};

}  // namespace

template <class T>
void OnGpu::matmul(const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c) {
    Product<T>(*state_, a, b, c).run();
}

template void OnGpu::matmul(const Operand<const float>&, const Operand<const float>&, const Operand<float>&);
template void OnGpu::matmul(const Operand<const double>&, const Operand<const double>&, const Operand<double>&);

}  // namespace glint::arrays
