"""Writes the trained weights as a GGUF file: `python export.py BUILD_DIR MODEL.gguf`."""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

from model import Shape
from tokenizer import END, SPECIALS, TEXT_END, Tokenizer

# ChatML. Content may be text or OpenAI's list of text parts.
CHAT_TEMPLATE = (
    '{% for turn in messages %}{{ "<|im_start|>" ~ turn.role ~ "\\n" }}'
    "{% if turn.content is string %}{{ turn.content }}"
    "{% else %}{% for part in turn.content or [] %}{{ part.text }}{% endfor %}{% endif %}"
    '{{ "<|im_end|>\\n" }}{% endfor %}'
    '{% if add_generation_prompt %}{{ "<|im_start|>assistant\\n" }}{% endif %}'
)


def write_header(writer, shape):
    """General facts and the sizes that llama.cpp needs."""
    writer.add_name("Overnight Tiny")
    writer.add_description("A toy chat model for trying and testing Overnight; it knows a few hundred templates.")
    writer.add_author("The Overnight authors")
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)


def write_tokenizer(writer, tokenizer):
    """Vocabulary, merges, special tokens and chat template."""
    types = [gguf.TokenType.CONTROL if token in SPECIALS else gguf.TokenType.NORMAL for token in tokenizer.tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokenizer.tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer.merges])
    writer.add_bos_token_id(tokenizer.ids[TEXT_END])
    writer.add_eos_token_id(tokenizer.ids[END])
    writer.add_eot_token_id(tokenizer.ids[END])
    writer.add_pad_token_id(tokenizer.ids[TEXT_END])
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_tensors(writer, shape, weights):
    """Matrices as Q8_0, vectors as F32."""
    for name, size in shape.tensors().items():
        value = np.ascontiguousarray(weights[name], dtype=np.float32)
        assert value.shape == size, name
        if len(size) == 1:
            writer.add_tensor(f"{name}.weight", value)
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(value, kind), raw_dtype=kind)


def export(build, target):
    """Writes `target` from what `train.py` left in `build`."""
    shape = Shape()
    tokenizer = Tokenizer(json.loads((build / "merges.json").read_text()))
    writer = gguf.GGUFWriter(target, "llama")
    write_header(writer, shape)
    write_tokenizer(writer, tokenizer)
    write_tensors(writer, shape, np.load(build / "weights.npz"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    export(Path(sys.argv[1]), Path(sys.argv[2]))
