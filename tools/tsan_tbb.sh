#!/bin/sh
# Builds Debian's oneTBB with ThreadSanitizer into a folder. The system's library is not instrumented: whatever it
# hands from thread to thread through its own atomics would look like a race. Usage: tools/tsan_tbb.sh FOLDER
# SPDX-License-Identifier: MIT
set -eu
mkdir -p "$1"
cd "$1"
here=$PWD
[ -f libtbb.so.12 ] && exit 0

# The system's package sources, asked for source code; lists of our own, so that nothing of the system changes.
mkdir -p sources lists/partial
[ ! -f /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >sources/lines.list
for file in /etc/apt/sources.list.d/debian*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"sources/$(basename "$file")"
done
apt() {
    apt-get -qq -o Acquire::Retries=5 -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$here/sources" \
        -o Dir::State::Lists="$here/lists" -o APT::Sandbox::User=root "$@" </dev/null
}
apt update
apt source --download-only onetbb

mkdir -p source
(cd source && cmake -E tar xf ../onetbb_*.orig.tar.*)  # a bare Debian has no xz for tar
cmake -G Ninja -S source/* -B build -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_SANITIZE=thread \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" >/dev/null
cmake --build build --target tbb >/dev/null
cp build/*/libtbb.so.12 libtbb.new
mv libtbb.new libtbb.so.12
