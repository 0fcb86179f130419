#!/usr/bin/env python3
"""Writes lib/tensor/quant_grids.cpp: the code books of the i types, from the tables of the `gguf` package.

The tables are part of the file format. Each grid point is four or eight small numbers, kept here as indices of
two or three bits into the type's list of magnitudes, one point a word.

    python3 scripts/make_quant_grids.py > lib/tensor/quant_grids.cpp      (needs `pip install gguf numpy`)
"""

import gguf.quants as quants
import numpy

HEAD = """// The code books of the i types, made by scripts/make_quant_grids.py: facts of the format. A point is a word of
// 2-bit indices (3-bit for iq3_*), the first element's lowest, into the type's magnitudes.
#include "tensor/quant_grids.h"

// clang-format off
namespace takt {
"""


def points(kind, magnitudes, bits):
    kind.init_grid()
    grid = kind.grid.reshape(kind.grid_shape)
    lookup = {value: index for index, value in enumerate(magnitudes)}
    return [sum(lookup[int(v)] << (bits * i) for i, v in enumerate(row)) for row in grid]


def table(name, values, bytes_each):
    digits = 2 * bytes_each
    texts = [f"0x{value:0{digits}x}" for value in values]
    per_line = 108 // (digits + 4)
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return f"\nconst uint{8 * bytes_each}_t {name}[{len(values)}] = {{\n    " + ",\n    ".join(lines) + "};\n"


def main():
    print(HEAD, end="")
    two = (0x08, 0x19, 0x2B)
    for name, kind in (("kGridIq2Xxs", quants.IQ2_XXS), ("kGridIq2Xs", quants.IQ2_XS), ("kGridIq2S", quants.IQ2_S)):
        print(table(name, points(kind, two, 2), 2), end="")
    three = (0x04, 0x0C, 0x14, 0x1C, 0x24, 0x2C, 0x34, 0x3E)
    print(table("kGridIq3Xxs", points(quants.IQ3_XXS, three, 3), 2), end="")
    print(table("kGridIq3S", points(quants.IQ3_S, (1, 3, 5, 7, 9, 11, 13, 15), 3), 2), end="")
    print(table("kGridIq1S", points(quants.IQ1_S, (-1, 0, 1), 2), 2), end="")
    signs = numpy.frombuffer(quants.IQ2_XXS.ksigns, dtype=numpy.uint8)
    even = [i | (bin(i).count("1") & 1) << 7 for i in range(128)]
    assert signs.tolist() == even, "seven stored signs and the eighth that makes their number even"
    print("\n}  // namespace takt")


if __name__ == "__main__":
    main()
