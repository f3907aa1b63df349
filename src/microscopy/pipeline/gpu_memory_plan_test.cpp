// Uploads to all GPUs together stay within the job's memory.
// SPDX-License-Identifier: MIT
#include "pipeline/gpu_memory_plan.hpp"

#include <gtest/gtest.h>

#include "pipeline/frame_upload.hpp"

namespace glint {
namespace {

struct Case {
    MovieInfo movie;
    LocalizeJob job;
};

Case with(int edge_px, int threads) {
    MovieInfo movie;
    movie.width = movie.height = edge_px, movie.type = PixelType::uint16;
    Camera camera;
    LocalizeJob job{.camera = CameraView(camera, edge_px, edge_px), .options = {}, .frames = {}};
    job.threads = threads;
    return {movie, job};
}

}  // namespace

TEST(GpuMemoryPlan, uploads_of_all_gpus_stay_within_the_memory_of_the_job) {
    for (int edge_px : {64, 512, 2048, 4096})
        for (int gpus : {1, 2, 8}) {
            const auto [movie, job] = with(edge_px, 16);
            const std::size_t of_gpu = max_uploads(movie, job, 100000, 8, gpus);
            const std::size_t buffers = 2 * FrameUpload::buffer_bytes(std::size_t(edge_px) * std::size_t(edge_px) * 2);
            EXPECT_GE(of_gpu, 1u);
            EXPECT_LE(of_gpu, 16u);
            if (of_gpu > 1) {
                EXPECT_LE(of_gpu * std::size_t(gpus) * buffers, job.options.memory_bytes) << edge_px << ", " << gpus;
            }
        }
}

TEST(GpuMemoryPlan, uploads_are_as_many_as_blocks_or_threads) {
    const auto [movie, job] = with(64, 16);
    EXPECT_EQ(max_uploads(movie, job, 0, 1, 1), 1u);
    EXPECT_EQ(max_uploads(movie, job, 23, 8, 1), 3u);
    EXPECT_EQ(max_uploads(movie, job, unknown_end, 1, 1), 16u);
}

}  // namespace glint
