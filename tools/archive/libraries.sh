#!/bin/sh
# Builds static libraries into a folder from Debian's sources, with its patches, if Debian's own packages do not fit:
# - only shared, with parts under the GPL or LGPL, or with much that glint does not use: oneTBB, HDF5 (without network),
#   libtiff (without JBIG), fmt, pugixml, yaml-cpp;
# - static for programs, but not for modules: c-blosc, libjpeg-turbo, libpng.
# Usage: tools/archive/libraries.sh FOLDER
# SPDX-License-Identifier: MIT
set -eu
tools=$(cd "$(dirname "$0")/.." && pwd)
script=$tools/archive/$(basename "$0")
mkdir -p "$1"
cd "$1"
cmp -s "$script" complete && exit 0 # built by this version of the script
packages="c-blosc fmtlib hdf5 libjpeg-turbo libpng1.6 onetbb pugixml tiff yaml-cpp"

. "$tools/debian_sources.sh"
mkdir -p unpacked
for package in $packages; do # the release's version, if a mirror lacks the newest version that its list names
    (cd unpacked && { apt source "$package" || apt source "$package/bookworm"; } >/dev/null)
done

install() { # in the build folder, because HDF5's checks write into the current folder
    name=$1
    shift
    source=$(echo "$here"/unpacked/"$name"-[0-9]*)
    mkdir -p "build/$name"
    (
        cd "build/$name"
        launcher=$(command -v ccache || true)
        cmake -G Ninja -S "$source" -B . -DCMAKE_INSTALL_PREFIX="$here" -DCMAKE_INSTALL_LIBDIR=lib \
            -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
            -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -Wno-dev "$@" &&
            cmake --build . --target install
    ) >"build/$name.log" 2>&1 || {
        tail -n 20 "build/$name.log" >&2
        exit 1
    }
}
mkdir -p build
install c-blosc -DBUILD_SHARED=OFF -DBUILD_TESTS=OFF -DBUILD_FUZZERS=OFF -DBUILD_BENCHMARKS=OFF -DDEACTIVATE_SNAPPY=ON \
    -DPREFER_EXTERNAL_LZ4=ON -DPREFER_EXTERNAL_ZLIB=ON -DPREFER_EXTERNAL_ZSTD=ON
install fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
install onetbb -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
install hdf5 -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF \
    -DHDF5_BUILD_HL_LIB=OFF -DBUILD_TESTING=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=ON \
    -DHDF5_ENABLE_SZIP_ENCODING=ON -DHDF5_ENABLE_ROS3_VFD=OFF -DHDF5_ENABLE_HDFS=OFF -DHDF5_ENABLE_THREADSAFE=OFF
install libjpeg-turbo -DCMAKE_INSTALL_LIBDIR="$here/lib" -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON
install libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF
install pugixml -DPUGIXML_BUILD_TESTS=OFF
install tiff -Djbig=OFF -Dlerc=OFF -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF
install yaml-cpp -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_BUILD_SHARED_LIBS=OFF

# toml++ as a header-only library.
mkdir -p lib/cmake/tomlplusplus
cat >lib/cmake/tomlplusplus/tomlplusplusConfig.cmake <<'END'
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
set_target_properties(tomlplusplus::tomlplusplus PROPERTIES INTERFACE_COMPILE_DEFINITIONS TOML_HEADER_ONLY=1)
END
cp "$script" complete
