// GPU kernels of detection for many frames per launch (theory.md, section 5), in the order in which they run. The
// arithmetic is shared with the CPU (detect/row_math.hpp and detect/frame_math.hpp). Each header included here
// distributes one stage over threads.
//
// Each kernel is a struct with `compute`, or with phases if threads of a block share data (gpu/kernel_abi.hpp).
//
// A frame's pixels are read three times: as counts for the background, as photoelectrons for the search of maxima, and
// in the ROIs. All sums have a fixed order, and atomics only set bits or count. The spots and their order are therefore
// reproducible bit for bit.
// SPDX-License-Identifier: MIT
#include "detect/cuda/background_kernel.hpp"
#include "detect/cuda/maxima_kernels.hpp"
#include "detect/cuda/noise_kernels.hpp"
#include "detect/cuda/photoelectrons.hpp"
#include "detect/cuda/spots_kernels.hpp"
#include "detect/cuda/uniform_score_kernel.hpp"
#include "detect/cuda/weighted_score_kernel.hpp"

#define GLINT_DETECT(...) ::glint::GLINT_ISA::__VA_ARGS__
GLINT_KERNEL(count_bad_pixels, 6, GLINT_DETECT(CountBadPixels))
GLINT_KERNEL(background_u8, 11, GLINT_DETECT(TileBackground<unsigned char>))
GLINT_KERNEL(background_u16, 11, GLINT_DETECT(TileBackground<unsigned short>))
GLINT_KERNEL(background_f32, 11, GLINT_DETECT(TileBackground<float>))
GLINT_KERNEL(fill_missing_tiles, 3, GLINT_DETECT(FillMissingTiles))
GLINT_KERNEL(sample_noise, 11, GLINT_DETECT(SampleNoise))
GLINT_KERNEL(judge_noise, 6, GLINT_DETECT(JudgeNoise))
GLINT_KERNEL(uniform_score_3, 10, GLINT_DETECT(UniformScore<3>))
GLINT_KERNEL(uniform_score_4, 10, GLINT_DETECT(UniformScore<4>))
GLINT_KERNEL(uniform_score_5, 10, GLINT_DETECT(UniformScore<5>))
GLINT_KERNEL(uniform_score_6, 10, GLINT_DETECT(UniformScore<6>))
GLINT_KERNEL(uniform_score_0, 10, GLINT_DETECT(UniformScore<0>))
GLINT_KERNEL(weighted_score_3, 11, GLINT_DETECT(WeightedScore<3>))
GLINT_KERNEL(weighted_score_4, 11, GLINT_DETECT(WeightedScore<4>))
GLINT_KERNEL(weighted_score_5, 11, GLINT_DETECT(WeightedScore<5>))
GLINT_KERNEL(weighted_score_6, 11, GLINT_DETECT(WeightedScore<6>))
GLINT_KERNEL(weighted_score_0, 11, GLINT_DETECT(WeightedScore<0>))
GLINT_KERNEL(list_maxima, 10, GLINT_DETECT(ListMaxima))
GLINT_KERNEL(gather_spots, 9, GLINT_DETECT(GatherSpots))
GLINT_KERNEL(cut_rois, 6, GLINT_DETECT(CutRois))
