# Makes the tiny models of tests/data/families and their expected outputs: make_families.py [NAME...], else all.
# Needs torch, transformers 5.24 and gguf; TAKT_LLAMA_CPP_PYTHON names a Python with llama_cpp_python to check with.
import logging
import os
import sys

import transformers

import families_common
import families_dense
import families_gpt_oss
import families_lfm2
import families_moe
import families_qwen35

FAMILIES = {**families_dense.FAMILIES, **families_moe.FAMILIES, **families_gpt_oss.FAMILIES,
            **families_lfm2.FAMILIES, **families_qwen35.FAMILIES}


def main(names):
    transformers.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    os.makedirs(families_common.OUT, exist_ok=True)
    for name in names or FAMILIES:
        FAMILIES[name](name)


main(sys.argv[1:])
