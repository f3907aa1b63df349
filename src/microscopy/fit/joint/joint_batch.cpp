// Selects the compiled joint fit for a model and the active instruction set.
// SPDX-License-Identifier: MIT
#include "fit/joint/joint_batch.hpp"

#include "glint/psf.hpp"

namespace glint {

std::size_t fit_joint(int model, const KernelPsf& psf, const JointNumbers& numbers, const JointImage& image,
                      int molecules, float* memory, JointResult* result) {
    switch (PsfModel(model)) {
#define GLINT_PSF_MODEL(name) \
    case PsfModel::name:      \
        return GLINT_PICK(joint_##name)(psf, numbers, image, molecules, memory, result);
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
    }
    return 0;  // the host has checked the model
}

void add_known_light(int model, const KernelPsf& psf, const JointImage& image, const float* thetas, int count,
                     float* memory, float* known) {
    switch (PsfModel(model)) {
#define GLINT_PSF_MODEL(name) \
    case PsfModel::name:      \
        return GLINT_PICK(light_##name)(psf, image, thetas, count, memory, known);
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
    }
}

}  // namespace glint
