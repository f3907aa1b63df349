#!/bin/sh
# Builds Debian's oneTBB with ThreadSanitizer into a folder. The system's library is not instrumented: whatever it
# hands from thread to thread through its own atomics would look like a race. Usage: tools/tsan_tbb.sh FOLDER
# SPDX-License-Identifier: MIT
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
[ -f libtbb.so.12 ] && exit 0

. "$tools/debian_sources.sh"
apt source --download-only onetbb

mkdir -p source
(cd source && cmake -E tar xf ../onetbb_*.orig.tar.*)  # a bare Debian has no xz for tar
cmake -G Ninja -S source/* -B build -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_SANITIZE=thread \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" >/dev/null
cmake --build build --target tbb >/dev/null
cp build/*/libtbb.so.12 libtbb.new
mv libtbb.new libtbb.so.12
