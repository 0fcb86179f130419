"""What the usual engine's quantizers do, for models_quantize.py: runs in the environment that has llama-cpp-python, gguf, numpy.

    quantize_peer.py rmse TAKT FOLDER MODEL.gguf     a JSON line a type and source of weights: relative RMSE of takt and ggml
    quantize_peer.py file IN.gguf OUT.gguf FTYPE     llama.cpp's own quantization of a file
    quantize_peer.py types A.gguf B.gguf             a JSON line: tensors in all, and those whose types differ
"""
import ctypes, json, pathlib, subprocess, sys

import gguf, numpy

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_M", "Q5_K_M", "Q6_K"]


def ggml():
    import llama_cpp
    library = ctypes.CDLL(str(next((pathlib.Path(llama_cpp.__file__).parent / "lib").glob("libggml-base.so"))))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    return library


def sources(model):
    """Gaussian and heavy-tailed numbers, and weights of a real model: rows of 1024."""
    random = numpy.random.default_rng(1)
    yield "gaussian", random.standard_normal((512, 1024)).astype(numpy.float32)
    yield "student t", random.standard_t(4, (512, 1024)).astype(numpy.float32)
    tensors = {t.name: t for t in gguf.GGUFReader(model).tensors}
    for name in ("token_embd.weight", "blk.5.ffn_up.weight"):
        values = gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type).reshape(-1)[: 512 * 1024]
        yield name, numpy.ascontiguousarray(values.reshape(-1, 1024), dtype=numpy.float32)


def relative(values, raw, kind):
    back = gguf.quants.dequantize(raw.reshape(values.shape[0], -1), kind)
    return float(numpy.sqrt(((values - back) ** 2).mean() / (values**2).mean()))


def rmse(takt, folder, model):
    library = ggml()
    for source, values in sources(model):
        path = pathlib.Path(folder) / "weights.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tensor("blk.0.attn_q.weight", values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        for name in TYPES:
            kind = gguf.GGMLQuantizationType[name.removesuffix("_M")]
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            theirs = numpy.zeros(values.size // elements * size, dtype=numpy.uint8)
            library.ggml_quantize_chunk(int(kind), values.ctypes.data, theirs.ctypes.data, 0, *values.shape, None)
            out = path.with_name("out.gguf")
            subprocess.run([takt, "quantize", path, out, name, "--pure"], check=True, capture_output=True)
            ours = numpy.array(gguf.GGUFReader(out).tensors[0].data)
            print(json.dumps({"type": kind.name, "source": source, "takt": relative(values, ours, kind),
                              "ggml": relative(values, theirs, kind)}), flush=True)


def file(source, target, file_type):
    import llama_cpp
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = int(file_type)
    if llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(parameters)) != 0:
        sys.exit(f"llama.cpp could not quantize {source}")


def types(first, second):
    kinds = [{t.name: t.tensor_type.name for t in gguf.GGUFReader(path).tensors} for path in (first, second)]
    different = [f"{name}: {kinds[0].get(name)}, {kinds[1].get(name)}" for name in sorted(kinds[0] | kinds[1])
                 if kinds[0].get(name) != kinds[1].get(name)]
    print(json.dumps({"tensors": len(kinds[0]), "different": different}))


if __name__ == "__main__":
    {"rmse": rmse, "file": file, "types": types}[sys.argv[1]](*sys.argv[2:])
