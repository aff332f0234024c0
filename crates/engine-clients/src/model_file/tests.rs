use std::io::Cursor;

use super::*;

const WHOLE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf"));
/// The end of its header, where its tensors begin.
const HEADER_BYTES: usize = 31_169;
const DATA_AT: usize = 31_200;

fn judge(bytes: &[u8]) -> Result<ModelPurpose, ModelFileUnusable> {
    check(Cursor::new(bytes), bytes.len() as u64)
}

fn words(bytes: &[u8]) -> String {
    judge(bytes).map_or_else(|error| error.to_string(), |_| "whole".to_owned())
}

#[test]
fn the_model_in_the_box_is_whole_and_no_part_of_it_is() {
    assert_eq!(words(WHOLE), "whole");
    let mut more = WHOLE.to_vec();
    more.push(0);
    assert_eq!(words(&more), "whole");
    for length in (0..HEADER_BYTES).step_by(7).chain(HEADER_BYTES - 40..HEADER_BYTES) {
        let found = judge(&WHOLE[..length]);
        match length {
            0..4 => assert!(matches!(found, Err(ModelFileUnusable::NoModel)), "{length}: {found:?}"),
            _ => assert!(matches!(found, Err(ModelFileUnusable::HeaderCut)), "{length}: {found:?}"),
        }
    }
    let lengths = (HEADER_BYTES..=DATA_AT).chain((DATA_AT..WHOLE.len()).step_by(9_973));
    for length in lengths.chain([WHOLE.len() - 1]) {
        let expected = format!("is cut short: it has {length} of {} bytes", WHOLE.len());
        assert_eq!(words(&WHOLE[..length]), expected);
    }
}

#[test]
fn a_file_that_pools_is_an_embedding_model() {
    const BERT: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/models/tiny-bert.gguf"));
    assert_eq!(judge(WHOLE).unwrap(), ModelPurpose::Chat);
    assert_eq!(judge(BERT).unwrap(), ModelPurpose::Embeddings);
    for (kind, pooling, expected) in [
        (UINT32, 0, ModelPurpose::Chat),
        (UINT32, 3, ModelPurpose::Embeddings),
        (INT32, 1, ModelPurpose::Embeddings),
    ] {
        let pools = value("qwen3.pooling_type", kind, &u32::to_le_bytes(pooling));
        assert_eq!(judge(&file(0, 1, &[&pools[..]])).unwrap(), expected, "{kind} {pooling}");
    }
    let ranks = value("bert.pooling_type", UINT32, &4_u32.to_le_bytes());
    assert!(matches!(judge(&file(0, 1, &[&ranks[..]])), Err(ModelFileUnusable::Ranks)));
    let (writes, encodes) =
        (value("gemma.attention.causal", BOOL, &[1]), value("bert.attention.causal", BOOL, &[0]));
    let pools = value("bert.pooling_type", UINT32, &1_u32.to_le_bytes());
    assert_eq!(judge(&file(0, 1, &[&writes[..]])).unwrap(), ModelPurpose::Chat);
    assert!(matches!(judge(&file(0, 1, &[&encodes[..]])), Err(ModelFileUnusable::Silent)));
    for values in [[&encodes[..], &pools[..]], [&pools[..], &encodes[..]]] {
        assert_eq!(judge(&file(0, 2, &values)).unwrap(), ModelPurpose::Embeddings);
    }
    for other in ["bert.classifier.pooling_type", "qwen3.pooling_type_of_none"] {
        let pools = value(other, UINT32, &1_u32.to_le_bytes());
        assert_eq!(judge(&file(0, 1, &[&pools[..]])).unwrap(), ModelPurpose::Chat, "{other}");
    }
}

#[test]
fn a_file_of_an_architecture_that_is_not_served_is_refused() {
    let named = |name: &str| {
        let text = [&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat();
        value("general.architecture", STRING, &text)
    };
    let pools = value("t5encoder.pooling_type", UINT32, &1_u32.to_le_bytes());
    for name in ["t5", "t5encoder", "llada-moe"] {
        let expected =
            format!("is of a model of the architecture {name}, which the embedded engine does not serve");
        assert_eq!(words(&file(0, 2, &[&named(name)[..], &pools[..]])), expected);
    }
    for name in ["qwen3", "t5x", &"t".repeat(200)] {
        assert_eq!(judge(&file(0, 1, &[&named(name)[..]])).unwrap(), ModelPurpose::Chat, "{name}");
    }
}

/// A file of version 3 that claims so many tensors and values, followed by `rest`.
fn file(tensors: u64, values: u64, rest: &[&[u8]]) -> Vec<u8> {
    let head = [&MAGIC[..], &3_u32.to_le_bytes(), &tensors.to_le_bytes(), &values.to_le_bytes()];
    [&head.concat(), &rest.concat()[..]].concat()
}

/// A tensor's name, dimensions, type and offset.
fn tensor(sizes: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let dimensions = u32::try_from(sizes.len()).unwrap();
    let mut bytes = [&1_u64.to_le_bytes()[..], b"t", &dimensions.to_le_bytes()].concat();
    sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    bytes.extend(kind.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

fn value(key: &str, kind: u32, bytes: &[u8]) -> Vec<u8> {
    [&(key.len() as u64).to_le_bytes()[..], key.as_bytes(), &kind.to_le_bytes(), bytes].concat()
}

#[test]
fn other_files_are_told_apart() {
    let mut version = file(0, 0, &[]);
    version[4] = 1;
    let mut swapped = file(0, 0, &[]);
    swapped[4..8].copy_from_slice(&3_u32.to_be_bytes());
    for (bytes, expected) in [
        (b"<html>".to_vec(), "is no GGUF file"),
        (version, "is a GGUF file of version 1; versions 2 and 3 can be used"),
        (swapped, "is a GGUF file of version 50331648; versions 2 and 3 can be used"),
        (file(0, 0, &[]), "whole"),
    ] {
        assert_eq!(words(&bytes), expected);
    }
}

#[test]
fn tensors_end_where_their_types_and_the_alignment_say() {
    let aligned = value("general.alignment", UINT32, &64_u32.to_le_bytes());
    for (rest, values, expected) in [
        // 24 bytes of header and 41 of the tensor: the data begins at 96, or at 128 of what the alignment makes 109.
        (vec![tensor(&[32, 2], 8, 0)], 0, 96 + 68),
        (vec![tensor(&[256], 12, 96)], 0, 64 + 96 + 144),
        (vec![aligned.clone(), tensor(&[3], 0, 0)], 1, 128 + 12),
        (vec![tensor(&[5], 77, 40)], 0, 64 + 40),
    ] {
        let parts: Vec<&[u8]> = rest.iter().map(Vec::as_slice).collect();
        let mut bytes = file(1, values, &parts);
        let cut = bytes.len() as u64;
        assert_eq!(words(&bytes), format!("is cut short: it has {cut} of {expected} bytes"));
        bytes.resize(expected, 0);
        assert_eq!(words(&bytes), "whole");
    }
}

#[test]
fn a_hostile_header_is_refused_at_once() {
    const MANY: [u8; 8] = u64::MAX.to_le_bytes();
    let array = |kind: u32| value("k", ARRAY, &[&kind.to_le_bytes()[..], &MANY].concat());
    for (bytes, expected) in [
        (file(u64::MAX, 0, &[]), "is cut short or damaged: it ends within its header"),
        (file(0, u64::MAX, &[]), "is cut short or damaged: it ends within its header"),
        (file(0, 1, &[&MANY]), "is cut short or damaged: it ends within its header"),
        (file(0, 1, &[&value("k", STRING, &MANY)]), "is cut short or damaged: it ends within its header"),
        (file(0, 1, &[&array(STRING)]), "is cut short or damaged: it ends within its header"),
        (file(0, 1, &[&array(12)]), "is cut short or damaged: it ends within its header"),
        (file(0, 1, &[&array(ARRAY)]), "is damaged: a value has an unknown type"),
        (file(0, 1, &[&value("k", 99, &[])]), "is damaged: a value has an unknown type"),
        (
            file(0, 1, &[&value("general.alignment", UINT32, &[0; 4])]),
            "is damaged: its alignment is no power of two",
        ),
        (
            file(0, 1, &[&value("general.alignment", STRING, &[0; 8])]),
            "is damaged: its alignment is no number",
        ),
        (file(1, 0, &[&tensor(&[1; 5], 0, 0)]), "is damaged: a tensor has an impossible shape"),
        (file(1, 0, &[&tensor(&[u64::MAX, 2], 0, 0)]), "is damaged: a tensor has an impossible shape"),
        (file(1, 0, &[&tensor(&[31], 8, 0)]), "is damaged: a tensor has an impossible shape"),
        (file(1, 0, &[&tensor(&[4], 0, u64::MAX)]), "is damaged: a tensor has an impossible shape"),
    ] {
        assert_eq!(words(&bytes), expected);
    }
    let far = file(1, 0, &[&tensor(&[4], 77, u64::MAX)]);
    assert!(matches!(judge(&far), Err(ModelFileUnusable::Cut { expected: u64::MAX, .. })));
}

#[test]
fn numbers_that_end_llama_cpp_are_refused_by_their_keys() {
    let number = |key: &str, number: u32| value(&format!("qwen3.{key}"), UINT32, &number.to_le_bytes());
    let judged = |numbers: &[(&str, u32)]| {
        let values: Vec<Vec<u8>> = numbers.iter().map(|(key, given)| number(key, *given)).collect();
        let parts: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        words(&file(0, parts.len() as u64, &parts))
    };
    let refused = |key: &str, value: u32, least: u32, most: u32| {
        format!("is damaged: its {key} is {value}; llama.cpp takes {least} to {most}")
    };
    for layers in [0, 513, 1 << 31, u32::MAX] {
        assert_eq!(judged(&[("block_count", layers)]), refused("block_count", layers, 1, 512));
    }
    for tokens in [0, 1 << 31] {
        let expected = refused("context_length", tokens, 1, (1 << 31) - 1);
        assert_eq!(judged(&[("context_length", tokens)]), expected);
    }
    let layers = [("nextn_predict_layers", 9), ("block_count", 8)];
    assert_eq!(judged(&layers), refused("nextn_predict_layers", 9, 0, 8));
    assert_eq!(judged(&[("expert_count", 1_025)]), refused("expert_count", 1_025, 0, 1_024));
    let experts = |used: u32| judged(&[("expert_count", 8), ("expert_used_count", used)]);
    assert_eq!((experts(1), experts(8)), ("whole".to_owned(), "whole".to_owned()));
    assert_eq!(experts(0), refused("expert_used_count", 0, 1, 8));
    assert_eq!(experts(9), refused("expert_used_count", 9, 1, 8));
    assert_eq!(judged(&[("expert_used_count", 1)]), refused("expert_used_count", 1, 0, 0));
    let groups = |groups: u32, used: u32| {
        let groups = ("expert_group_count", groups);
        judged(&[("expert_count", 8), ("expert_used_count", 2), groups, ("expert_group_used_count", used)])
    };
    assert_eq!((groups(4, 3), groups(1, 0)), ("whole".to_owned(), "whole".to_owned()));
    assert_eq!(groups(8, 1), refused("expert_group_count", 8, 0, 7));
    assert_eq!(groups(4, 4), refused("expert_group_used_count", 4, 1, 3));
    assert_eq!(groups(3, 1), "is damaged: its expert_group_count does not fit its experts");
    assert_eq!(judged(&[("block_count", 512), ("context_length", 1), ("other", 0)]), "whole");
    for (epsilon, is_taken) in [(0.0, true), (1e-5, true), (-1.0, false), (f32::NAN, false)] {
        let norm = value("llama.attention.layer_norm_rms_epsilon", FLOAT32, &epsilon.to_le_bytes());
        let expected = if is_taken { "whole" } else { "is damaged: its epsilon of norms is less than 0" };
        assert_eq!(words(&file(0, 1, &[&norm])), expected, "{epsilon}");
    }
    // llama.cpp corrects these itself.
    let corrected = value("hunyuan-dense.expert_used_count", UINT32, &1_u32.to_le_bytes());
    assert_eq!(words(&file(0, 1, &[&corrected])), "whole");
}

#[test]
fn vocabularies_with_a_token_twice_are_refused() {
    let vocabulary = |tokens: &[&[u8]]| {
        let text = |token: &&[u8]| [&(token.len() as u64).to_le_bytes()[..], token].concat();
        let tokens: Vec<u8> = [&STRING.to_le_bytes()[..], &(tokens.len() as u64).to_le_bytes()]
            .concat()
            .into_iter()
            .chain(tokens.iter().flat_map(text))
            .collect();
        words(&file(0, 1, &[&value("tokenizer.ggml.tokens", ARRAY, &tokens)]))
    };
    let twice = "is damaged: its vocabulary has a token twice (tokenizer.ggml.tokens)";
    assert_eq!(vocabulary(&[b"a", b"b", b"", b"", b"\xff"]), "whole");
    assert_eq!(vocabulary(&[b"a", b"b", b"a"]), twice);
    // llama.cpp reads tokens up to their first zero byte, and names empty ones.
    assert_eq!(vocabulary(&[b"a\0b", b"a\0c"]), twice);
    assert_eq!(vocabulary(&[b"[EMPTY_1]", b""]), twice);
    let long = "is damaged: its vocabulary has a token of more than 65,536 bytes (tokenizer.ggml.tokens)";
    assert_eq!(
        (vocabulary(&[&[7; 65_537]]), vocabulary(&[&[7; 65_536]])),
        (long.to_owned(), "whole".to_owned())
    );
    let many = [STRING.to_le_bytes().to_vec(), u64::MAX.to_le_bytes().to_vec()].concat();
    assert_eq!(
        words(&file(0, 1, &[&value("tokenizer.ggml.tokens", ARRAY, &many)])),
        "is damaged: its vocabulary has more than 4,194,304 tokens (tokenizer.ggml.tokens)"
    );
}

#[test]
fn vocabularies_of_word_pieces_with_tokens_of_bytes_are_refused() {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let judged = |tokenizer: &str, kinds: [u32; 3]| {
        let list = [&INT32.to_le_bytes()[..], &3_u64.to_le_bytes(), &kinds.map(u32::to_le_bytes).concat()];
        let kinds = value("tokenizer.ggml.token_type", ARRAY, &list.concat());
        let tokenizer = value("tokenizer.ggml.model", STRING, &text(tokenizer));
        words(&file(0, 2, &[&kinds, &tokenizer]))
    };
    assert_eq!(
        (judged("bert", [1, 3, 1]), judged("llama", [1, 6, 1])),
        ("whole".to_owned(), "whole".to_owned())
    );
    let expected =
        "is damaged: its vocabulary of word pieces has tokens of bytes (tokenizer.ggml.token_type)";
    assert_eq!(judged("bert", [1, 6, 1]), expected);
}

#[test]
fn no_change_of_a_byte_brings_it_down() {
    let mut bytes = WHOLE[..DATA_AT].to_vec();
    for at in 0..bytes.len().min(4_096) {
        for change in [0x01, 0x80, 0xff] {
            bytes[at] ^= change;
            let _ = judge(&bytes);
            bytes[at] ^= change;
        }
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(check_model_file(folder.path()), Err(ModelFileUnusable::NoFile)));
    let missing = check_model_file(&folder.path().join("missing"));
    assert!(matches!(missing, Err(ModelFileUnusable::Unreadable(_))), "{missing:?}");
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, WHOLE).unwrap();
    assert!(check_model_file(&path).is_ok());
}
