// The fuzzers' targets, one row each. CMakeLists.txt builds fuzz_NAME for each; fuzz_corpus_test.cpp replays
// corpus/NAME.
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/fuzz/drift_readers.hpp"
#include "tests/fuzz/hdf5_readers.hpp"
#include "tests/fuzz/lens_readers.hpp"
#include "tests/fuzz/localization_readers.hpp"
#include "tests/fuzz/readers.hpp"
#include "tests/fuzz/text_readers.hpp"

namespace glint::fuzz {

struct Target {
    const char* name;  ///< fuzz_NAME, and the folder in tests/fuzz/corpus
    void (*feed)(Bytes);
};

// libhdf5 leaks on damaged files and asks for as much memory as they claim, so run roi_hdf5 with
//   ASAN_OPTIONS=allocator_may_return_null=1 fuzz_roi_hdf5 -detect_leaks=0 -malloc_limit_mb=9999999 ...
inline constexpr Target targets[] = {
    {"tiff", tiff},                // TIFF movies
    {"tiff_files", tiff_files},    // movies of several TIFFs: folders, Micro-Manager, OME-TIFF sets
    {"accent", accent},            // ACCeNT's folder of maps
    {"raw", raw},                  // Picasso raw movies and their descriptions
    {"dax", dax},                  // DAX movies and their descriptions
    {"nd2", nd2},                  // ND2 movies
    {"czi", czi},                  // CZI movies
    {"ims", ims},                  // Imaris movies
    {"zarr", zarr},                // Zarr arrays
    {"spe", spe},                  // SPE movies: headers and XML footers
    {"sif", sif},                  // SIF movies: the header, times and flags
    {"spool", spool},              // spooled frames' descriptions
    {"dcimg", dcimg},              // DCIMG movies: headers and footers
    {"lif", lif},                  // LIF files: XML and blocks
    {"png", png},                  // PNG frames
    {"ndtiff", ndtiff},            // NDTiff's index
    {"fits", fits},                // FITS movies
    {"mat", mat},                  // MATLAB files, packed and not
    {"npy", npy},                  // ROI stacks in .npy files
    {"roi_hdf5", roi_hdf5},        // ROI stacks in HDF5 files
    {"csv", csv},                  // CSV localizations
    {"picasso", picasso},          // Picasso localizations with columns, types and metadata of any kind
    {"toml", toml},                // camera.toml and calibrations
    {"smlm", smlm},                // SMLMAnalysis localizations with columns, types and lengths of any kind
    {"hdf5_bytes", hdf5_bytes},    // damaged HDF5 files of localizations and camera maps
    {"maps", maps},                // camera maps with types, values and units of any kind
    {"records", records},          // journals and parts of runs
    {"metadata", metadata},        // Picasso's metadata
    {"description", description},  // what ImageJ, OME and MicroManager write into a TIFF
    {"conditions", conditions},    // conditions of `glint filter`
    {"drift", drift_files},        // drift files and positions of beads
    {"lens", lens_files},          // measured PSFs: HDF5, MATLAB files and pickles
};

}  // namespace glint::fuzz
