#!/usr/bin/env bash
# scripts/onednn3.sh FOLDER: unpacks oneDNN 3 (library, headers, CMake files) into FOLDER, since Debian 12 has only 2.6. It comes
# from PyPI, in the variant that needs nothing but GNU OpenMP; later ones there need TBB and Intel's SYCL runtime.
set -euo pipefail
folder=$(realpath -m "$1")
version=2023.2.0  # oneDNN 3.2
packages=("onednn-cpu-gomp==$version" "onednn-devel-cpu-gomp==$version")
[ -f "$folder/done-$version" ] && exit 0
rm -rf "$folder"
mkdir -p "$folder/wheels"
cd "$folder"
python3 -m pip download -q --disable-pip-version-check --no-deps -d wheels "${packages[@]}" >&2
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" unpacked; done
cp -r unpacked/*.data/data/{include,lib} .
# A wheel holds no links, but three copies of the library.
full=$(basename lib/libdnnl.so.3.?*)
ln -sf "$full" lib/libdnnl.so.3
ln -sf "$full" lib/libdnnl.so
rm -rf wheels unpacked
touch "done-$version"
