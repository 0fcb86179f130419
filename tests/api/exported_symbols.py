#!/usr/bin/env python3
"""exported_symbols.py LIBRARY HEADER: what the shared library exports is what the header declares, nothing else."""
import re, subprocess, sys

library, header = sys.argv[1:]
symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines() if line}
declared = set(re.findall(r"TAKT_API[^;(]*?\b(takt_\w+)\(", open(header).read()))
assert len(declared) > 30, f"only {len(declared)} functions found in {header}"
if exported != declared:
    sys.exit(f"exported but not declared: {sorted(exported - declared)}; declared but not exported: {sorted(declared - exported)}")
