// GPU kernels of detection, for many frames at once (docs/theory.md, section 5), in the order in which they run. The
// arithmetic is shared with the CPU (detect/row_math.hpp and detect/frame_math.hpp); the headers included here, one for
// each stage, distribute it over threads.
//
// Each kernel is a struct with `compute` and, where threads of a block share data, `stage`, which runs before it with a
// barrier in between (gpu/kernel_abi.hpp).
//
// All sums have a fixed order and there are no atomics: the spots and their order depend on the frames only, bit for
// bit.
// SPDX-License-Identifier: MIT
#include "detect/cuda/background_kernel.hpp"
#include "detect/cuda/maxima_kernels.hpp"
#include "detect/cuda/noise_kernels.hpp"
#include "detect/cuda/photoelectrons_kernels.hpp"
#include "detect/cuda/spots_kernels.hpp"
#include "detect/cuda/uniform_score_kernel.hpp"
#include "detect/cuda/weighted_score_kernel.hpp"

#define GLINT_DETECT(...) ::glint::GLINT_ISA::__VA_ARGS__
GLINT_KERNEL(photoelectrons_u8, 7, GLINT_DETECT(ToPhotoelectrons<unsigned char>))
GLINT_KERNEL(photoelectrons_u16, 7, GLINT_DETECT(ToPhotoelectrons<unsigned short>))
GLINT_KERNEL(photoelectrons_f32, 7, GLINT_DETECT(ToPhotoelectrons<float>))
GLINT_KERNEL(count_bad_pixels, 7, GLINT_DETECT(CountBadPixels))
GLINT_KERNEL(mend_masked, 4, GLINT_DETECT(MendMasked))
GLINT_KERNEL(tile_background, 6, GLINT_DETECT(TileBackground))
GLINT_KERNEL(fill_missing_tiles, 3, GLINT_DETECT(FillMissingTiles))
GLINT_KERNEL(sample_noise, 11, GLINT_DETECT(SampleNoise))
GLINT_KERNEL(noise_median, 3, GLINT_DETECT(NoiseMedian))
GLINT_KERNEL(noise_spread, 7, GLINT_DETECT(NoiseSpread))
GLINT_KERNEL(uniform_score_3, 8, GLINT_DETECT(UniformScore<3>))
GLINT_KERNEL(uniform_score_4, 8, GLINT_DETECT(UniformScore<4>))
GLINT_KERNEL(uniform_score_5, 8, GLINT_DETECT(UniformScore<5>))
GLINT_KERNEL(uniform_score_6, 8, GLINT_DETECT(UniformScore<6>))
GLINT_KERNEL(uniform_score_0, 8, GLINT_DETECT(UniformScore<0>))
GLINT_KERNEL(weighted_score_3, 8, GLINT_DETECT(WeightedScore<3>))
GLINT_KERNEL(weighted_score_4, 8, GLINT_DETECT(WeightedScore<4>))
GLINT_KERNEL(weighted_score_5, 8, GLINT_DETECT(WeightedScore<5>))
GLINT_KERNEL(weighted_score_6, 8, GLINT_DETECT(WeightedScore<6>))
GLINT_KERNEL(weighted_score_0, 8, GLINT_DETECT(WeightedScore<0>))
GLINT_KERNEL(lower_missing, 4, GLINT_DETECT(LowerMissing))
GLINT_KERNEL(mark_maxima, 5, GLINT_DETECT(MarkMaxima))
GLINT_KERNEL(list_maxima, 5, GLINT_DETECT(ListMaxima))
GLINT_KERNEL(drop_plateaus, 8, GLINT_DETECT(DropPlateaus))
GLINT_KERNEL(gather_spots, 9, GLINT_DETECT(GatherSpots))
GLINT_KERNEL(leave_out, 4, GLINT_DETECT(LeaveOut))
GLINT_KERNEL(cut_rois, 6, GLINT_DETECT(CutRois))
