#!/usr/bin/env bash
# scripts/arm64_packages.sh FOLDER: unpacks Debian's arm64 builds of what takt links into FOLDER/root. apt keeps what it
# needs for that in FOLDER too, so that the machine's own dpkg never learns of a second architecture, and root isn't asked for.
set -euo pipefail
folder=$(realpath -m "$1")
package=libutf8proc-dev
[ -f "$folder/done" ] && exit 0
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/root"
cd "$folder"
apt=(apt-get -qq -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=""
     -o APT::Architecture=arm64 -o APT::Architectures=arm64)
"${apt[@]}" update
"${apt[@]}" download "$package:arm64"
dpkg-deb -x "$package"_*_arm64.deb root
rm -f root/usr/lib/aarch64-linux-gnu/libutf8proc.so  # a link into a package that isn't here; the static library is
rm -rf lists cache
touch done
