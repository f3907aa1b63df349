#!/bin/sh
# ./dev with stand-ins for Debian's packages, Python and CMake: failing and simultaneous installations.
# SPDX-License-Identifier: MIT
set -eu
dev=$(cd "$(dirname "$0")/.." && pwd)/dev
folder=$(mktemp -d "${TMPDIR:-/tmp}/glint-dev.XXXXXX")
trap 'rm -rf "$folder"' EXIT
fail() { echo "dev_test: $*" >&2; cat "$folder"/out* >&2; exit 1; }

mkdir -p "$folder/bin" "$folder/tests/judge" "$folder/build/release"
cp "$dev" "$folder/dev"
echo package==1 >"$folder/tests/judge/requirements.txt"
sed -n '/^packages()/,/^}/p' "$dev" | awk 'NF > 2 { print "installed " $2 }' >"$folder/installed"
echo "#!/bin/sh
cat '$folder/installed'" >"$folder/bin/dpkg-query"
for name in cmake ctest; do
    echo "#!/bin/sh
echo $name >>'$folder/called'" >"$folder/bin/$name"
done
# Also replaces a virtual environment's Python. Installing takes a while, and records whether another installation runs.
cat >"$folder/bin/python3" <<END
#!/bin/sh
if [ "\$2" = venv ]; then
    rm -rf "\$4" && mkdir -p "\$4/bin" && cp "$folder/bin/python3" "\$4/bin/python"
    exit
fi
echo pip >>'$folder/called'
[ ! -e '$folder/no-network' ] || { echo 'no network' >&2; exit 1; }
mkdir '$folder/installing' 2>/dev/null || echo collision >>'$folder/called'
sleep 0.5
rmdir '$folder/installing' 2>/dev/null || true
END
chmod +x "$folder"/bin/*
export PATH="$folder/bin:$PATH"
unset CI

touch "$folder/no-network" "$folder/called"
if "$folder/dev" test >"$folder/out" 2>&1; then fail "the tests were begun without what they need"; fi
grep -q 'could not be installed' "$folder/out" || fail "no reason"
grep -q 'no network' "$folder/out" || fail "pip's own reason is lost"
if grep -q ctest "$folder/called"; then fail "ctest was called"; fi

rm "$folder/no-network" && : >"$folder/called"
"$folder/dev" test >"$folder/out1" 2>&1 &
first=$!
"$folder/dev" test >"$folder/out2" 2>&1 || fail "the second of two failed"
wait "$first" || fail "the first of two failed"
if grep -q collision "$folder/called"; then fail "two installed at once"; fi
[ "$(grep -c pip "$folder/called")" = 1 ] || fail "the packages were installed twice"
[ "$(grep -c ctest "$folder/called")" = 2 ] || fail "not both ran the tests"

# A test that fails, and the command that repeats it.
mkdir -p "$folder/build/release/Testing/Temporary"
echo "#!/bin/sh
mkdir -p Testing/Temporary && echo '7:Suite.fails/1' >Testing/Temporary/LastTestsFailed.log
exit 8" >"$folder/bin/ctest"
if TEST_TURN=5 "$folder/dev" test >"$folder/out" 2>&1; then fail "a test that fails is not noticed"; fi
command="TEST_TURN=5 TEST_THOROUGH=0 ./dev test --tests-regex '^(Suite\.fails/1)\$'"
grep -qF "$command" "$folder/out" || fail "no command that repeats a failed test"
head -n 1 "$folder/build/release/failed_tests.txt" | grep -qF "$command" ||
    fail "no command in the list of failed tests"
