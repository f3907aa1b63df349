// Selects the compiled kernel for a model and the active instruction set.
// SPDX-License-Identifier: MIT
#include "fit/fit_batch.hpp"

#include "glint/psf.hpp"

namespace glint {

void fit_batch(int model, const KernelPsf& psf, const KernelOptions& options, const KernelInput& in,
               const KernelOutput& out) {
    switch (PsfModel(model)) {
#define GLINT_PSF_MODEL(name) \
    case PsfModel::name:      \
        return GLINT_PICK(fit_##name)(psf, options, in, out);
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
    }
}

}  // namespace glint
