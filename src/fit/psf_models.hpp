// All PSF models, in one list: a new model is one more file, one more line here and one in PsfModel (CONTRIBUTING.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/psf_astigmatic.hpp"
#include "fit/psf_xynb.hpp"
#include "fit/psf_xynbs.hpp"
#include "fit/psf_xynbsxsy.hpp"
