# Finds every library that glint links. Names and licences: docs/reference/dependencies.md.
find_package(Threads REQUIRED)
find_package(TIFF REQUIRED)
find_package(PNG REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(pugixml REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_path(GLINT_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(GLINT_ZSTD zstd REQUIRED)
find_path(GLINT_BLOSC_INCLUDE blosc.h REQUIRED)
find_library(GLINT_BLOSC blosc REQUIRED)
find_path(GLINT_LZ4_INCLUDE lz4.h REQUIRED)
find_library(GLINT_LZ4 lz4 REQUIRED)
find_path(GLINT_XXHASH_INCLUDE xxhash.h REQUIRED)  # only its headers are used
find_package(Boost 1.74 REQUIRED)  # headers of Boost.Math
find_path(GLINT_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-pthread openblas REQUIRED)  # declarations of OpenBLAS
