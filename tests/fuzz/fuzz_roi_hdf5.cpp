// Fuzzes the reader of ROI stacks in HDF5 files.
// libhdf5 leaks on damaged files and asks for as much memory as they claim, so run it with
//   ASAN_OPTIONS=allocator_may_return_null=1 fuzz_roi_hdf5 -detect_leaks=0 -malloc_limit_mb=9999999 ...
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::roi_hdf5)
