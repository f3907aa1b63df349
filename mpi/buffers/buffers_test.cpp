// Tests of buffers in MPI calls, staged and direct; every rank runs all of them under mpirun.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "glint/gpu/device.hpp"
#include "glint/gpu/managed.hpp"
#include "glint/mpi.hpp"

using namespace glint;
using mpi::Communicator;
using mpi::Reduction;
using mpi::Way;

namespace {

/// More than two pinned pieces of 4 MiB, and not a multiple of a piece.
constexpr std::size_t many = (std::size_t(9) << 20) / sizeof(float) + 5;

/// Value k of a rank: small integers, so that sums are exact in any order.
template <class T>
T value(int rank, std::size_t k) {
    return T((rank + 1) * (k % 1000 + 1));
}

/// Direct transfers need memory that this MPI can access. Debian's is not CUDA-aware, but can access unified memory.
class Buffers : public ::testing::TestWithParam<Way> {
  protected:
    void SetUp() override {
        const gpu::Inventory found = gpu::inventory();
        ASSERT_EQ(found.why_none, "");
        all_ = std::make_unique<Communicator>(MPI_COMM_WORLD, GetParam());
        context_ = std::make_unique<gpu::Context>(all_->rank() % int(found.devices.size()),
                                                  gpu::ContextOptions{.limit_bytes = std::uint64_t(256) << 20});
        stream_ = std::make_unique<gpu::Stream>(*context_);
    }
    bool direct() const { return GetParam() == Way::direct; }
    template <class T>
    gpu::Buffer<T> make(std::size_t n) const {
        return direct() ? gpu::Managed<T>(*context_, n).buffer() : gpu::Buffer<T>(*stream_, n);
    }
    /// Uploads on another stream, which the message must wait for.
    template <class T>
    gpu::Buffer<T> of_rank(int rank, std::size_t n) const {
        gpu::Buffer<T> buffer = make<T>(n);
        std::vector<T> values(n);
        for (std::size_t k = 0; k < n; ++k) values[k] = value<T>(rank, k);
        const gpu::Stream other(*context_);
        gpu::upload(other, buffer, values);
        return buffer;
    }
    template <class T>
    std::vector<T> downloaded(const gpu::Buffer<T>& buffer) const {
        std::vector<T> values(buffer.size());
        gpu::download(*stream_, std::span<T>(values), buffer);
        return values;
    }
    template <class T>
    void expect_reduced(Reduction reduction, std::size_t n) {
        gpu::Buffer<T> buffer = of_rank<T>(all_->rank(), n);
        mpi::allreduce(*stream_, buffer, reduction, *all_);
        const std::vector<T> got = downloaded(buffer);
        const int ranks = all_->size();
        for (std::size_t k = 0; k < n; ++k) {
            const T sum = T(ranks * (ranks + 1) / 2) * value<T>(0, k);
            const T wanted = reduction == Reduction::sum   ? sum
                             : reduction == Reduction::min ? value<T>(0, k)
                                                           : value<T>(ranks - 1, k);
            ASSERT_EQ(got[k], wanted) << k;
        }
    }

    std::unique_ptr<Communicator> all_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<gpu::Stream> stream_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Mpi, Buffers, ::testing::Values(Way::staged, Way::direct, Way::automatic),
                         [](const auto& way) {
                             return way.param == Way::direct   ? "direct"
                                    : way.param == Way::staged ? "staged"
                                                               : "automatic";
                         });

TEST_P(Buffers, go_round_in_a_ring) {
    const int ranks = all_->size(), me = all_->rank(), left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
    ASSERT_EQ(ranks, 4) << "run by mpirun -n 4";
    for (const std::size_t n : {std::size_t(1), many}) {
        const gpu::Buffer<float> mine = of_rank<float>(me, n);
        gpu::Buffer<float> theirs = make<float>(n);
        gpu::fill(*stream_, theirs, 0xff);
        // Even ranks send first: MPI_Send may block until the receiver receives.
        if (me % 2 == 0) mpi::send(*stream_, mine, right, *all_, 7);
        mpi::receive(*stream_, theirs, left, *all_, 7);
        if (me % 2 == 1) mpi::send(*stream_, mine, right, *all_, 7);
        EXPECT_EQ(downloaded(theirs), downloaded(of_rank<float>(left, n)));
    }
    // Only messages of the larger size go through GPU memory: one to the right, one from the left. All ranks are on
    // this node, and the neighbours use another GPU.
    const bool shares = GetParam() == Way::automatic && !all_->direct() && !std::getenv("SIMGPU_NO_PEER");
    EXPECT_EQ(all_->shared_messages(), shares ? 2u : 0u);
}

TEST_P(Buffers, leave_no_memory_behind_and_need_little_room) {
    const int me = all_->rank(), other = me ^ 1;
    gpu::Buffer<float> data = of_rank<float>(me, many);
    const std::uint64_t live = context_->statistics().live_bytes;
    context_->lower_limit(live + (std::uint64_t(1) << 20));  // no room for shared memory: messages go through the host
    me % 2 == 0 ? mpi::send(*stream_, data, other, *all_) : mpi::receive(*stream_, data, other, *all_);
    EXPECT_EQ(all_->shared_messages(), 0u);
    EXPECT_EQ(context_->statistics().live_bytes, live);
    EXPECT_EQ(downloaded(data)[7], value<float>(me & ~1, 7));
}

TEST_P(Buffers, a_view_is_sent_and_filled_alone) {
    const int me = all_->rank();
    gpu::Buffer<int> data = of_rank<int>(me, 100);
    gpu::Buffer<int> part = data.view(10, 20);
    mpi::broadcast(*stream_, part, 2, *all_);
    const std::vector<int> got = downloaded(data);
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k], value<int>(k >= 10 && k < 30 ? 2 : me, k)) << k;
}

TEST_P(Buffers, are_broadcast_in_several_pieces) {
    gpu::Buffer<float> data = of_rank<float>(all_->rank(), many);
    mpi::broadcast(*stream_, data, 3, *all_);
    EXPECT_EQ(downloaded(data), downloaded(of_rank<float>(3, many)));
}

TEST_P(Buffers, are_reduced_over_all_ranks) {
    for (const Reduction reduction : {Reduction::sum, Reduction::min, Reduction::max}) {
        expect_reduced<float>(reduction, many);
        expect_reduced<double>(reduction, 1001);
        expect_reduced<std::int32_t>(reduction, 1001);
    }
}

TEST_P(Buffers, are_gathered_in_the_order_of_ranks) {
    const int ranks = all_->size();
    for (const std::size_t n : {std::size_t(3), many / 4}) {
        const gpu::Buffer<float> mine = of_rank<float>(all_->rank(), n);
        gpu::Buffer<float> together = make<float>(all_->rank() == 1 ? n * std::size_t(ranks) : 1);
        mpi::gather(*stream_, mine, together, 1, *all_);
        if (all_->rank() != 1) continue;
        const std::vector<float> got = downloaded(together);
        for (int rank = 0; rank < ranks; ++rank)
            for (std::size_t k = 0; k < n; ++k)
                ASSERT_EQ(got[std::size_t(rank) * n + k], value<float>(rank, k)) << rank << " " << k;
    }
}

TEST_P(Buffers, what_comes_later_in_the_stream_finds_the_result) {
    gpu::Buffer<float> data = of_rank<float>(all_->rank(), 1000), copy = make<float>(1000);
    mpi::allreduce(*stream_, data, Reduction::max, *all_);
    const gpu::Stream other(*context_);
    gpu::copy(other, copy, data);
    EXPECT_EQ(downloaded(copy), downloaded(of_rank<float>(all_->size() - 1, 1000)));
}

TEST_P(Buffers, errors_name_the_ranks_and_the_sizes) {
    gpu::Buffer<float> data = of_rank<float>(all_->rank(), 10);
    EXPECT_THROW(mpi::send(*stream_, data, all_->size(), *all_), OptionError);
    EXPECT_THROW(mpi::broadcast(*stream_, data, -1, *all_), OptionError);
    gpu::Buffer<float> short_one = make<float>(9);
    if (all_->rank() > 1) return;
    try {
        all_->rank() == 0 ? mpi::send(*stream_, data, 1, *all_) : mpi::receive(*stream_, short_one, 0, *all_);
        FAIL() << "10 elements do not go into 9";
    } catch (const mpi::MpiError& error) {
        const std::string words = error.what();
        EXPECT_NE(words.find("rank 0 sends 10 elements, where rank 1 receives 9"), std::string::npos) << words;
    }
    // No part of the refused message is left in transit: the next message arrives unchanged.
    all_->rank() == 0 ? mpi::send(*stream_, data, 1, *all_) : mpi::receive(*stream_, data, 0, *all_);
    EXPECT_EQ(downloaded(data), downloaded(of_rank<float>(0, 10)));
}

TEST(Mpi, without_being_told_it_goes_as_the_mpi_can) {
    EXPECT_EQ(Communicator(MPI_COMM_WORLD).direct(), mpi::cuda_aware());
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    ::testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0) {  // other ranks print their failures, but not every test
        auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
        class Failures : public ::testing::EmptyTestEventListener {
            void OnTestPartResult(const ::testing::TestPartResult& result) override {
                if (result.failed())
                    std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.message());
            }
        };
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new Failures);
    }
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
