// Creates random operands and calls the operations.
// SPDX-License-Identifier: MIT
#include "arrays/samples.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <random>

namespace glint::arrays {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t n) {
    std::minstd_rand random(1);
    std::vector<T> values(static_cast<std::size_t>(n));
    std::vector<T> few(static_cast<std::size_t>(std::min<std::int64_t>(n, 1 << 16)));
    for (T& value : few) value = T(double(random()) / double(random.max()) - 0.5);
    for (std::size_t k = 0; k < values.size(); k += few.size())
        std::copy_n(few.begin(), std::min(few.size(), values.size() - k), values.begin() + std::ptrdiff_t(k));
    return values;
}

template <class T>
std::vector<std::complex<T>> random_complex(std::int64_t n) {
    const std::vector<T> parts = random_values<T>(2 * n);
    std::vector<std::complex<T>> values(static_cast<std::size_t>(n));
    std::memcpy(static_cast<void*>(values.data()), parts.data(), parts.size() * sizeof(T));
    return values;
}

/// Operands in host memory, and on the GPU if they are resident.
template <class T>
class Held {
  public:
    Held(Session& session, std::vector<T> values, const Shape& shape, bool resident)
        : values_(std::move(values)), view_(values_.data(), shape) {
        if (!resident) return;
        device_ = to_device<T>(session, view_);
        values_ = {}, resident_ = true;
    }
    Operand<const T> input() const { return resident_ ? Operand<const T>(device_) : Operand<const T>(view_); }
    Operand<T> result() const { return resident_ ? Operand<T>(device_) : Operand<T>(view_); }

  private:
    std::vector<T> values_;
    View<T> view_;
    DeviceArray<T> device_;
    bool resident_ = false;
};

template <class T>
std::shared_ptr<Held<T>> held(Session& session, std::vector<T> values, const Shape& shape, bool resident) {
    return std::make_shared<Held<T>>(session, std::move(values), shape, resident);
}

/// Two products and a root of each pair of elements.
const Program& length() {
    static const Program program = compile(sqrt(input(0) * input(0) + input(1) * input(1)));
    return program;
}

}  // namespace

template <class T>
Work sample_work(Kind kind, std::int64_t n, bool resident) {
    const Residency at{resident, resident};
    switch (kind) {
        case Kind::matmul: return matmul_work<T>({n, n}, {n, n}, at);
        case Kind::fft: return fft_work<T>({n}, 1, false, at);
        case Kind::svd: return svd_work<T>({n, n}, true, at);
        case Kind::map: return map_work<T>(length(), {n}, at);
        default: return reduce_work<T>(length(), {n}, {resident, false});
    }
}

template <class T>
Sample sample(Session& session, Kind kind, std::int64_t n, bool resident) {
    Sample made;
    made.work = sample_work<T>(kind, n, resident);
    std::function<void()> call;
    if (kind == Kind::matmul) {
        const Shape square{n, n};
        const auto a = held(session, random_values<T>(n * n), square, resident);
        const auto c = held(session, std::vector<T>(std::size_t(n * n)), square, resident);
        call = [&session, a, c] { matmul<T>(session, a->input(), a->input(), c->result()); };
    } else if (kind == Kind::fft) {
        const auto in = held(session, random_complex<T>(n), {n}, resident);
        const auto out = held(session, std::vector<std::complex<T>>(std::size_t(n)), {n}, resident);
        call = [&session, in, out] { fft<T>(session, in->input(), out->result()); };
    } else if (kind == Kind::svd) {
        const Shape square{n, n};
        const auto a = held(session, random_values<T>(n * n), square, resident);
        const auto u = held(session, std::vector<T>(std::size_t(n * n)), square, resident);
        const auto vt = held(session, std::vector<T>(std::size_t(n * n)), square, resident);
        const auto s = held(session, std::vector<T>(std::size_t(n)), {n}, resident);
        call = [&session, a, s, u, vt] { svd<T>(session, a->input(), s->result(), u->result(), vt->result()); };
    } else {
        const auto x = held(session, random_values<T>(n), {n}, resident);
        const auto y = held(session, random_values<T>(n), {n}, resident);
        const std::vector<Operand<const T>> inputs{x->input(), y->input()};
        if (kind == Kind::map) {
            const auto out = held(session, std::vector<T>(std::size_t(n)), {n}, resident);
            call = [&session, x, y, inputs, out] { map<T>(session, length(), inputs, out->result()); };
        } else {
            call = [&session, x, y, inputs] { reduce<T>(session, Reduction::sum, length(), inputs); };
        }
    }
    made.run = [&session, call] {
        call();
        session.synchronize();
    };
    return made;
}

template Work sample_work<float>(Kind, std::int64_t, bool);
template Work sample_work<double>(Kind, std::int64_t, bool);
template Sample sample<float>(Session&, Kind, std::int64_t, bool);
template Sample sample<double>(Session&, Kind, std::int64_t, bool);

}  // namespace glint::arrays
