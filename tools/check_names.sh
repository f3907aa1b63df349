#!/bin/sh
# Checks that no two files of a library define the same name in anonymous namespaces, so that any files can be compiled
# together (glint_together() in CMakeLists.txt). Also checks that clang has no warnings. clang reads all files of each
# library as one, and generates no code.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
cmake --preset release -B build/names --log-level=ERROR -D CMAKE_CXX_COMPILER=clang++ -D GLINT_UNITY_BATCH=0 \
    -D GLINT_WARNINGS_ARE_ERRORS=ON -D GLINT_CCACHE= -D GLINT_CUDA=SIMULATED -D GLINT_BUILD_TESTS=OFF \
    -D GLINT_BUILD_EXAMPLES=OFF -D GLINT_PYTHON=OFF -D CMAKE_CXX_FLAGS_RELEASE=-fsyntax-only >/dev/null
cd build/names
together=$(ninja -t targets all | sed -n 's/^\(.*unity_0_cxx.cxx.o\): .*/\1/p')
[ -n "$together" ] || { echo 'names: there are no files to compile together' >&2; exit 1; }
# The rest: files that are never compiled together, and programs. Not *.isa.cpp, which use extensions of GCC.
others=$(ninja -t targets all | sed -n 's/^\(.*[.]cpp[.]o\): .*/\1/p' | grep -v '[.]isa[.]')
# shellcheck disable=SC2086 # one target a word
ninja --quiet -k 0 $together $others
libraries=$(echo "$together" | wc -l)
echo "names: $libraries libraries, each of which compiles as one file; $(echo "$others" | wc -l) other files"
