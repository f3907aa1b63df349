#!/bin/sh
# Checks that no two files of a library define the same name in anonymous namespaces, whichever of them sanitized builds compile
# together (glint_together() in CMakeLists.txt): the compiler reads all files of each library as one, and makes no code.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
cmake --preset asan -B build/names --log-level=ERROR -D GLINT_TOGETHER=0 -D GLINT_BUILD_TESTS=OFF -D GLINT_BUILD_EXAMPLES=OFF \
    -D GLINT_PYTHON=OFF -D CMAKE_CXX_FLAGS_RELWITHDEBINFO="-fsyntax-only -w" >/dev/null
cd build/names
libraries=$(ninja -t targets all | sed -n 's/^\(.*unity_0_cxx.cxx.o\): .*/\1/p')
[ -n "$libraries" ] || { echo 'names: there are no files to compile together' >&2; exit 1; }
# shellcheck disable=SC2086 # one target a word
ninja --quiet -k 0 $libraries
echo "names: $(echo "$libraries" | wc -l) libraries, each of which compiles as one file"
