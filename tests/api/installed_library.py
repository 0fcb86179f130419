#!/usr/bin/env python3
"""installed_library.py CMAKE BUILD SOURCE MODEL CC: installs into a folder of its own, then builds and runs against that alone."""
import os, pathlib, re, subprocess, sys, tempfile

cmake, build, source, model, compiler = sys.argv[1:]
source = pathlib.Path(source)


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_tokens(text):
    gaps = re.findall(r"^ +\d+\.\d\d ms  ", text, re.M)
    assert len(gaps) > 1, f"hello printed no tokens with gaps:\n{text}"


assert len((source / "examples/hello.c").read_text().splitlines()) < 40
with tempfile.TemporaryDirectory() as folder:
    prefix = pathlib.Path(folder) / "prefix"
    run(cmake, "--install", build, "--prefix", prefix)
    libraries = next(p.parent for p in prefix.rglob("libtakt.so"))
    # By hand, the way a Makefile would.
    run(compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", source / "examples/hello.c", "-o", f"{folder}/hello",
        f"-I{prefix}/include", f"-L{libraries}", "-ltakt", f"-Wl,-rpath,{libraries}")
    check_tokens(run(f"{folder}/hello", model, "Hello, world!"))
    # By find_package.
    consumer = pathlib.Path(folder) / "consumer"
    run(cmake, "-S", source / "examples/cmake_consumer", "-B", consumer, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={compiler}")
    run(cmake, "--build", consumer)
    check_tokens(run(consumer / "hello", model, "Hello, world!"))
    assert "tokens/s" in run(consumer / "consumer", model, "Hello, world!")
