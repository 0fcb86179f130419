#!/usr/bin/env python3
"""The CPU backend on 64-bit Arm: cross-compiled, and run by qemu-user as CPUs with and without each extension.

  arm_test.py build           configures and builds build/aarch64
  arm_test.py kernels CPU     tests/cpu on that CPU
  arm_test.py command CPU     the takt command there: its levels, and golden tokens at each of them

Ends with 77, which ctest counts as skipped, where the cross compiler, qemu or Debian's arm64 packages are missing.
"""
import json, os, pathlib, shutil, subprocess, sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build/aarch64"
GOLDEN = SOURCE / "tests/data/golden"
SKIPPED = 77
# What qemu's CPUs have, best first: the kernels of every level run on a CPU that has nothing above it.
LEVELS = {"cortex-a53": ["neon", "scalar"], "neoverse-n1": ["neon_dotprod", "neon", "scalar"],
          "max": ["neon_i8mm", "neon_dotprod", "neon", "scalar"]}
N_REAL_TOKENS = 4


def skip_unless_ready():
    for program in ("aarch64-linux-gnu-g++", "qemu-aarch64"):
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    if not (SOURCE / "build/arm64-packages/done").exists():
        skip("scripts/arm64_packages.sh has not brought Debian's arm64 packages")


def skip(why):
    print(f"skipped: {why} (./dev test brings what is missing)")
    sys.exit(SKIPPED)


def on_cpu(cpu, *command):
    return ["qemu-aarch64", "-cpu", cpu, "-L", "/usr/aarch64-linux-gnu", *map(str, command)]


def lines_of(cpu, *arguments):
    """What takt prints there as JSON lines."""
    done = subprocess.run(on_cpu(cpu, BUILD / "bin/takt", *arguments, "--json"), capture_output=True, text=True)
    assert done.returncode == 0, f"takt {arguments} on {cpu} ended with {done.returncode}: {done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def generated(cpu, isa, model, prompt, n):
    lines = lines_of(cpu, "run", "-m", model, "--backend", "cpu", "--isa", isa, "--ids", ",".join(map(str, prompt)), "-n", n, "--ignore-eos")
    return lines[-1]["ids"]


def equal(what, got, wanted):
    print(f"{'ok' if got == wanted else 'WRONG'}: {what}: {got}", flush=True)
    assert got == wanted, f"{what}: got {got}, wanted {wanted}"


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "aarch64"], cwd=SOURCE, check=True)
    subprocess.run(["cmake", "--build", BUILD, "--target", "cpu_tests", "takt_cli"], check=True)


def kernels(cpu):
    subprocess.run(on_cpu(cpu, BUILD / "bin/cpu_tests"), check=True)


def real_model():
    name = "smollm2-135m-instruct-q4_1"
    for variable in ("TAKT_MODEL_DIR", "TAKT_CACHE"):
        if os.environ.get(variable):
            return name, pathlib.Path(os.environ[variable]) / f"{name}.gguf"
    return name, pathlib.Path.home() / f".cache/takt/{name}.gguf"


def command(cpu):
    devices = {line["backend"]: line for line in lines_of(cpu, "devices")}
    equal(f"levels of {cpu}", devices["cpu"]["isa_levels"].split(), LEVELS[cpu])
    equal(f"best level of {cpu}", devices["cpu"]["isa"], LEVELS[cpu][0])
    tiny = json.loads((GOLDEN / "tiny/llama.json").read_text())["greedy"]
    for isa in LEVELS[cpu]:
        equal(f"tiny llama, {isa}", generated(cpu, isa, GOLDEN / "tiny/llama.gguf", tiny["prompt"], len(tiny["ids"])), tiny["ids"])
    name, path = real_model()
    if not path.exists():
        return print(f"no {path}: golden tokens of the tiny model alone")
    # The case whose first tokens the float32 oracle is surest of.
    case = max(json.loads((GOLDEN / f"greedy_{name}.json").read_text())["cases"], key=lambda c: min(c["oracle_gap"][:N_REAL_TOKENS]))
    # One level a CPU here, its best: the three CPUs make all three.
    equal(f"{name}, {case['name']}, {LEVELS[cpu][0]}", generated(cpu, LEVELS[cpu][0], path, case["prompt_ids"], N_REAL_TOKENS),
          case["oracle_top1"][:N_REAL_TOKENS])


if __name__ == "__main__":
    skip_unless_ready()
    {"build": build, "kernels": kernels, "command": command}[sys.argv[1]](*sys.argv[2:])
