# To be sourced. Sets `here` to the current folder and defines apt(): apt-get for sources of Debian's packages. The
# package lists are in that folder, so the system does not change. Updates the lists.
# SPDX-License-Identifier: MIT
here=$PWD
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
