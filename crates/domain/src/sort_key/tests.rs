use proptest::prelude::*;
use serde_json::{Value, json};

use super::{PromptBlocks, SortKey};
use crate::json::minimize;

const SECRET: [u8; 32] = [7; 32];

/// Bytes of the stream before the content of a user message.
const USER_ROLE_BYTES: usize = 5;

/// Of the stream: the model's name and its end.
const MODEL_BYTES: usize = 2;

const MESSAGE_END_BYTES: usize = 1;

fn key_of(body: &str) -> SortKey {
    SortKey::compute(&SECRET, minimize(body.as_bytes(), 0).expect("well-formed").as_json())
}

fn blocks(messages: &[Value]) -> PromptBlocks {
    let body = json!({"model": "m", "messages": messages}).to_string();
    let body = minimize(body.as_bytes(), 0).expect("well-formed");
    let (key, blocks) = SortKey::compute_with_blocks(&SECRET, body.as_json());
    assert_eq!(key, SortKey::compute(&SECRET, body.as_json()), "blocks do not change the key");
    blocks
}

fn key(messages: &[Value]) -> SortKey {
    key_of(&json!({"model": "m", "messages": messages}).to_string())
}

fn key_under(secret: &[u8; 32], message: &Value) -> SortKey {
    let body = json!({"model": "m", "messages": [message]}).to_string();
    SortKey::compute(secret, minimize(body.as_bytes(), 0).expect("well-formed").as_json())
}

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

/// Few roles and texts, so that conversations often begin alike.
fn message() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "a", "b", "é😀\n"]).prop_map(str::to_owned),
        1 => (prop::sample::select(vec!["a", "xy"]), 0_usize..3_000).prop_map(|(unit, count)| unit.repeat(count)),
    ];
    (prop::sample::select(vec!["system", "user"]), text)
        .prop_map(|(role, content)| json!({"role": role, "content": content}))
}

fn conversation(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(message(), length)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_longer_conversation_extends_the_key_of_its_beginning(
        start in conversation(1..6), left in conversation(0..4), right in conversation(0..4),
    ) {
        let beginning = key(&start);
        for rest in [&left, &right] {
            let whole = key(&[start.clone(), rest.clone()].concat());
            prop_assert!(whole.as_bytes().starts_with(beginning.as_bytes()));
        }
    }

    #[test]
    fn texts_that_begin_alike_share_a_cut_for_each_doubling(shared in 0_usize..150_000, tail in "[bc]{1,40}") {
        let text = "a".repeat(shared);
        let (left, right) = (user(&format!("{text}b")), user(&format!("{text}c{tail}")));
        let shared_under = |secret| key_under(secret, &left).shared_cuts(&key_under(secret, &right));
        let cuts = (0..9).filter(|doubling| 256 << doubling <= shared + USER_ROLE_BYTES).count();
        // Of 65,536 pairs of cuts behind the difference one agrees by chance, but not under both secrets.
        let (one, other) = (shared_under(&SECRET), shared_under(&[8; 32]));
        prop_assert_eq!((one.min(other), one.max(other) <= cuts + 2), (cuts, true));
    }

    #[test]
    fn keys_in_order_walk_the_tree_of_prefixes(mut all in prop::collection::vec(conversation(1..5), 2..40)) {
        all.sort_by_cached_key(|messages| key(messages));
        for length in 1..4 {
            let beginnings = all.iter().filter_map(|messages| messages.get(..length));
            let mut seen: Vec<&[Value]> = Vec::new();
            for beginning in beginnings {
                if seen.last() != Some(&beginning) {
                    prop_assert!(!seen.contains(&beginning), "left and entered again: {:?}", beginning);
                    seen.push(beginning);
                }
            }
        }
    }

    #[test]
    fn prompts_share_the_blocks_that_end_where_they_agree(shared in 0_usize..40_000, lengths in (1_usize..9_000, 1_usize..9_000)) {
        let text = "a".repeat(shared);
        let behind = |letter: &str, length| blocks(&[user(&format!("{text}{}", letter.repeat(length)))]);
        let (left, right) = (behind("b", lengths.0), behind("c", lengths.1));
        let mut agreed = USER_ROLE_BYTES + shared + MODEL_BYTES;
        for (one, other) in left.iter().zip(right.iter()) {
            let is_shared = agreed >= one.bytes && agreed >= other.bytes;
            prop_assert_eq!(one == other, is_shared, "{:?} {:?} {}", one, other, agreed);
            if !is_shared {
                break;
            }
            agreed -= one.bytes;
        }
        prop_assert_eq!(left.bytes(), MODEL_BYTES + USER_ROLE_BYTES + shared + lengths.0 + MESSAGE_END_BYTES);
    }

    #[test]
    fn a_key_is_short_whole_cuts_and_always_the_same(messages in conversation(0..30)) {
        let first = key(&messages);
        prop_assert!(first.as_bytes().len() <= SortKey::MAX_BYTES && first.as_bytes().len().is_multiple_of(2));
        prop_assert_eq!(&key(&messages), &first);
        prop_assert_eq!(SortKey::from_bytes(first.as_bytes()), first);
    }
}

#[test]
fn the_secret_decides_the_key() {
    let body =
        minimize(br#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#, 0).expect("well-formed");
    assert_ne!(SortKey::compute(&SECRET, body.as_json()), SortKey::compute(&[8; 32], body.as_json()));
}

#[test]
fn spelling_and_order_of_members_do_not_count() {
    let plain = key_of(r#"{"model":"m","messages":[{"role":"user","content":"A\n"}]}"#);
    let same = r#"{"seed":1,"messages":[{"name":"x","content":"\u0041\u000a","role":"\u0075ser"}],"model":"m","tools":null}"#;
    assert_eq!(key_of(same), plain);
}

#[test]
fn everything_a_prompt_shows_counts() {
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    let mut keys = vec![key_of(&plain.to_string())];
    for (pointer, value) in [
        ("/model", json!("n")),
        ("/messages/0/role", json!("system")),
        ("/messages/0/content", json!("b")),
        ("/messages/0/content", json!(null)),
        ("/messages/0/content", json!([{"type": "text", "text": "a"}])),
        ("/messages/0", json!({"role": "user", "content": "a", "tool_calls": [{"id": "c"}]})),
    ] {
        let mut other = plain.clone();
        *other.pointer_mut(pointer).expect("there") = value;
        keys.push(key_of(&other.to_string()));
    }
    let mut tools = plain;
    tools["tools"] = json!([{"type": "function"}]);
    keys.push(key_of(&tools.to_string()));
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn the_same_tools_are_one_subtree() {
    let with_tools = |content: &str| {
        key_of(
            &json!({"model": "m", "tools": [{"type": "function"}], "messages": [user(content)]}).to_string(),
        )
    };
    assert_eq!(with_tools("a").shared_cuts(&with_tools("b")), 1);
}

#[test]
fn what_differs_behind_a_long_head_is_told_apart() {
    let tools: Vec<Value> = (0..40).map(|_| json!({"type": "function", "x": "y".repeat(800)})).collect();
    let examples = (0..50).map(|turn| user(&turn.to_string()));
    let head: Vec<Value> =
        std::iter::once(json!({"role": "system", "content": "s".repeat(20_000)})).chain(examples).collect();
    let key_behind = |task: &str| {
        let messages = [head.clone(), vec![user(&task.repeat(2_000)), user("step")]].concat();
        key_of(&json!({"model": "m", "tools": tools, "messages": messages}).to_string())
    };
    let (left, right) = (key_behind("ab"), key_behind("cd"));
    assert!(left != right && left.shared_cuts(&right) >= 32);
}

#[test]
fn a_full_key_ignores_the_rest() {
    let turns: Vec<Value> = (0..64).map(|turn| user(&turn.to_string().repeat(5_000))).collect();
    let longer = [turns.clone(), vec![user("more")]].concat();
    assert_eq!(key(&turns).as_bytes().len(), SortKey::MAX_BYTES);
    assert_eq!(key(&turns), key(&longer));
}

#[test]
fn blocks_go_on_behind_the_last_cut_and_end_after_a_megabyte() {
    let turns: Vec<Value> = (0..64).map(|turn| user(&turn.to_string().repeat(5_000))).collect();
    let longer = [turns.clone(), vec![user("more")]].concat();
    let (shorter, longer) = (blocks(&turns), blocks(&longer));
    let common = shorter.iter().zip(longer.iter()).take_while(|(one, other)| one == other).count();
    assert_eq!(common, shorter.iter().count() - 1, "the last one ends with its prompt");
    let huge = blocks(&[user(&"x".repeat(4 << 20))]);
    let lengths: Vec<usize> = huge.iter().map(|block| block.bytes).collect();
    assert_eq!(
        (lengths.len(), lengths[0], lengths[8], lengths[20], lengths[60]),
        (301, 128, 256, 1_024, 4_096)
    );
    assert_eq!(huge.bytes(), (4 << 20) + MODEL_BYTES + USER_ROLE_BYTES + MESSAGE_END_BYTES);
}

#[test]
fn what_is_no_chat_body_has_a_key_all_the_same() {
    for text in ["null", "[]", "{}", r#"{"messages":7}"#, r#"{"messages":[1,{"content":{}}]}"#] {
        assert!(key_of(text).as_bytes().len() <= 4);
    }
}

#[test]
fn inner_cuts_stand_at_their_distances_from_the_start_of_each_message() {
    let shared = |first: &[Value], bytes: usize| {
        let text = "a".repeat(bytes);
        let key = |tail: &str| key(&[first, &[user(&format!("{text}{tail}"))]].concat());
        key("b").shared_cuts(&key("c"))
    };
    for (bytes, cuts) in [(100, 0), (250, 0), (251, 1), (506, 1), (507, 2), (1_018, 2), (1_019, 3)] {
        assert_eq!(shared(&[], bytes), cuts, "{bytes}");
    }
    // The message before has one inner cut and its end.
    assert_eq!(shared(&[user(&"x".repeat(300))], 600), 4);
}

#[test]
fn the_second_half_of_the_cuts_keeps_its_distance() {
    let cuts = |count: usize, bytes: usize| {
        let messages: Vec<Value> = (0..count).map(|number| user(&format!("{number:0bytes$}"))).collect();
        key(&messages).cuts().count()
    };
    // A message has 106 bytes of the stream: from the 33rd cut on there are five to one, from the 49th on 39.
    for (messages, expected) in [(32, 32), (36, 32), (37, 33), (112, 48), (150, 48), (151, 49), (190, 50)] {
        assert_eq!(cuts(messages, 100), expected, "{messages}");
    }
    // A distance that is just reached is enough: each of these has 512 bytes. At first they have three cuts, then one.
    assert_eq!(cuts(24, 506), 32 + 13);
}

#[test]
fn a_block_that_ends_with_its_prompt_is_the_last() {
    let content = 128 - MODEL_BYTES - USER_ROLE_BYTES - MESSAGE_END_BYTES;
    for (content, count) in [(content - 1, 1), (content, 1), (content + 1, 2)] {
        assert_eq!(blocks(&[user(&"x".repeat(content))]).iter().count(), count, "{content}");
    }
}

#[test]
fn cuts_behind_a_difference_may_agree_by_chance() {
    let text = "a".repeat(23_325);
    let (left, right) = (format!("{text}b"), format!("{text}cbbcbccbbcbbbbccccbccbbbbbcbcbcbcbcccbb"));
    let (left, right) = (key(&[user(&left)]), key(&[user(&right)]));
    assert_eq!(left.shared_cuts(&right), 8, "seven lie in front of it");
}

fn prompt_key(prompt: &Value) -> SortKey {
    key_of(&json!({"model": "m", "prompt": prompt}).to_string())
}

#[test]
fn prompts_without_a_conversation_share_the_cuts_of_their_common_beginning() {
    let head = "x".repeat(3_000);
    let (one, other) = (prompt_key(&json!(format!("{head}one"))), prompt_key(&json!(format!("{head}other"))));
    // 256, 512, 1 Ki and 2 Ki.
    assert_eq!(one.shared_cuts(&other), 4);
    assert_ne!(one, other);
    assert_eq!(one, key_of(&format!(r#"{{"prompt":"{head}\u006fne","seed":1,"model":"m"}}"#)));
    assert_eq!(
        one.shared_cuts(&key_of(&json!({"model": "another", "prompt": format!("{head}one")}).to_string())),
        0
    );
    let tokens: Vec<u32> = (1_000..2_000).collect();
    let longer = prompt_key(&json!([&tokens[..], &[7, 8]].concat()));
    assert!(prompt_key(&json!(tokens)).shared_cuts(&longer) >= 4);
    let keys = [
        prompt_key(&json!("ab")),
        prompt_key(&json!(["a", "b"])),
        prompt_key(&json!([1, 2])),
        prompt_key(&json!([[1], [2]])),
        prompt_key(&json!("[1,2]")),
    ];
    for (number, key) in keys.iter().enumerate() {
        assert!(!keys[..number].contains(key), "{number}");
    }
    let several = prompt_key(&json!([head, "a"]));
    assert_eq!(several.shared_cuts(&prompt_key(&json!([head, "b"]))), 5);
    assert_eq!(
        key_of(r#"{"model":"m","input":["a","b"]}"#),
        keys[1],
        "an input is a prompt that is read alone"
    );
}

#[test]
fn a_conversation_counts_and_no_prompt_beside_it() {
    let body = r#"{"model":"m","prompt":"p","messages":[{"role":"user","content":"a"}]}"#;
    assert_eq!(key_of(body), key(&[user("a")]));
}
