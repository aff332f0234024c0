use std::sync::Arc;

use serde_json::{Value, json};

use super::{Form, Grammar, Grammars, Shape, Unkept, trial};
use crate::{
    chance::Chance,
    fake::{END, FakeVocabulary},
};

fn grammars() -> Grammars {
    Grammars::new(Arc::new(FakeVocabulary::default()))
}

fn compile(form: Form) -> Result<Arc<Grammar>, Unkept> {
    compile_in(&grammars(), "account", form, 0)
}

fn compile_in(grammars: &Grammars, account: &str, form: Form, bytes: usize) -> Result<Arc<Grammar>, Unkept> {
    grammars.compile(&Arc::from(account), &form.review()?, bytes)
}

fn form(schema: Value) -> Form {
    Form::schema(schema, "response_format")
}

fn refusal(schema: Value) -> String {
    compile(form(schema)).expect_err("a refusal").reason
}

/// A random answer of at most `tokens_max` bytes, and whether it is complete.
fn answer(grammar: &Arc<Grammar>, seed: u64, tokens_max: usize) -> (String, bool) {
    let (mut guide, mut chance, mut bytes) = (grammar.start(), Chance::new(seed), Vec::new());
    let mut last = None;
    loop {
        let Some(allowed) = guide.advance(last).expect("a mask") else {
            return (String::from_utf8(bytes).expect("text"), true);
        };
        if bytes.len() == tokens_max {
            return (String::from_utf8_lossy(&bytes).into_owned(), false);
        }
        let tokens: Vec<u32> = (0..=END).filter(|&token| allowed.contains(token)).collect();
        let drawn = chance.next_u64() % u64::try_from(tokens.len()).expect("few");
        let token = tokens[usize::try_from(drawn).expect("few")];
        if token == END {
            return (String::from_utf8(bytes).expect("text"), true);
        }
        bytes.extend(u8::try_from(token));
        last = Some(token);
    }
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "maxLength": 5 },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "friends": { "type": "array", "items": { "$ref": "#/$defs/friend" }, "maxItems": 2 },
        },
        "required": ["name", "age", "friends"],
        "additionalProperties": false,
        "$defs": { "friend": { "enum": ["Ada", "Alan"] } },
    })
}

#[test]
fn every_answer_has_the_form() {
    let grammar = compile(form(person())).expect("a grammar");
    for seed in 0..200 {
        let (text, is_complete) = answer(&grammar, seed, 2_000);
        assert!(is_complete, "seed {seed}: {text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(3), "seed {seed}: {text}");
        assert!(value["name"].as_str().is_some_and(|name| name.chars().count() <= 5), "seed {seed}: {text}");
        assert!(value["age"].as_u64().is_some_and(|age| age <= 150), "seed {seed}: {text}");
        let friends = value["friends"].as_array().expect("a list");
        assert!(friends.len() <= 2 && friends.iter().all(|friend| friend == "Ada" || friend == "Alan"));
    }
}

#[test]
fn white_space_has_a_bound_that_no_schema_lifts() {
    let lifting = json!({ "type": "object", "x-guidance": { "whitespace_pattern": "[ ]+" } });
    for schema in [json!({ "type": "object" }), lifting] {
        let mut guide = compile(form(schema)).expect("a grammar").start();
        guide.advance(Some(u32::from(b'{'))).expect("an opening");
        let mut last = b'\n';
        let is_allowed = |_: &usize| {
            let allowed = guide.advance(Some(u32::from(last))).expect("a mask");
            last = b' ';
            allowed.is_some_and(|allowed| allowed.contains(u32::from(last)))
        };
        assert_eq!((0..500).take_while(is_allowed).count(), 64);
    }
}

#[test]
fn properties_come_in_the_order_of_the_schema() {
    let schema = json!({ "type": "object", "required": ["z", "a"], "properties": { "z": {}, "a": {} } });
    let mut guide = compile(form(schema)).expect("a grammar").start();
    let mut last = None;
    for byte in b"{\"z\":1,\"a\":2}".map(u32::from) {
        let allowed = guide.advance(last).expect("a mask");
        assert!(allowed.is_some_and(|allowed| allowed.contains(byte)));
        last = Some(byte);
    }
}

#[test]
fn a_schema_that_cannot_be_kept_to_is_refused_in_words() {
    for (schema, word) in [
        (json!("text"), "object or boolean"),
        (json!(false), "false"),
        (json!({ "type": "foo" }), "foo"),
        (json!({ "not": {} }), "not"),
        (json!({ "type": "array", "uniqueItems": true }), "uniqueItems"),
        (json!({ "$ref": "https://example.com/schema" }), "example.com"),
        (json!({ "$ref": "#/$defs/none" }), "$defs"),
        (json!({ "type": "string", "pattern": "(?=a)b" }), "regex"),
        (json!({ "type": "integer", "minimum": 3, "maximum": 1 }), "minimum"),
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }), "no answer is valid"),
        (json!({ "type": "integer", "multipleOf": 1_000_003 }), "multipleOf"),
        (json!({ "type": "number", "multipleOf": 1e-7 }), "multipleOf"),
    ] {
        let reason = refusal(schema.clone());
        assert!(reason.contains(word), "{schema}: {reason}");
    }
    assert!(compile(form(json!({ "type": "number", "multipleOf": 0.05 }))).is_ok());
}

#[test]
fn a_schema_that_is_too_large_is_refused() {
    let either = |place: usize| {
        let one = json!({ "properties": { format!("a{place}"): {} } });
        let other = json!({ "properties": { format!("b{place}"): {} } });
        json!({ "anyOf": [one, other] })
    };
    let products: Vec<Value> = (0..20).map(either).collect();
    assert!(refusal(json!({ "allOf": products })).contains("too large"));
    let names: Vec<String> = (0..20_000).map(|number| format!("name {number}")).collect();
    assert!(refusal(json!({ "enum": names })).contains("131072 bytes"));
}

#[test]
fn a_long_chain_of_references_is_followed() {
    let link = |place: usize| {
        let next = json!({ "$ref": format!("#/$defs/{}", place + 1) });
        (place.to_string(), json!({ "allOf": [next, { "type": "object" }] }))
    };
    let mut links: serde_json::Map<String, Value> = (0..2_000).map(link).collect();
    links.insert("2000".to_owned(), json!({ "type": "object" }));
    let chain = json!({ "$ref": "#/$defs/0", "$defs": links });
    assert!(compile(form(chain)).is_ok());
}

#[test]
fn an_expression_that_cannot_be_kept_to_is_refused_with_its_reason() {
    for (pattern, reason) in
        [("(?<=x)*", "look-behind, is not supported."), ("[a-", "unclosed character class.")]
    {
        let refused = compile(form(json!({ "type": "string", "pattern": pattern }))).expect_err(pattern);
        assert!(refused.reason.ends_with(reason), "{refused}");
    }
}

#[test]
fn a_form_too_complex_in_its_middle_says_so() {
    let names = (0..1_200).map(|number| (format!("p{number}"), json!({ "type": "string" })));
    let schema = json!({ "type": "object", "properties": names.collect::<serde_json::Map<_, _>>() });
    let mut guide = compile(form(schema)).expect("a grammar").start();
    let failed = guide.advance(Some(u32::from(b'{'))).expect_err("too many properties");
    assert_eq!(failed.field, "response_format");
    assert!(failed.reason.starts_with("The form cannot be kept to here:"), "{failed}");
}

#[test]
fn a_schema_is_compiled_once_for_an_account_and_the_latest_are_kept() {
    let grammars = grammars();
    let compile = |account: &str, number: usize| {
        compile_in(&grammars, account, form(json!({ "const": number })), 0).expect("a grammar")
    };
    let first = compile("one", 0);
    assert!(Arc::ptr_eq(&first, &compile("one", 0)));
    assert!(!Arc::ptr_eq(&first, &compile("other", 0)));
    (1..63).for_each(|number| drop(compile("one", number)));
    assert!(Arc::ptr_eq(&first, &compile("one", 0)), "it was used last");
    (63..128).for_each(|number| drop(compile("one", number)));
    assert!(!Arc::ptr_eq(&first, &compile("one", 0)));
}

#[test]
fn large_forms_of_an_account_leave_those_of_others() {
    let grammars = grammars();
    let compile = |account: &str, number: usize, bytes: usize| {
        compile_in(&grammars, account, form(json!({ "const": number })), bytes).expect("a grammar")
    };
    let small = compile("small", 0, 1 << 20);
    let first = compile("large", 0, 100 << 20);
    (1..8).for_each(|number| drop(compile("large", number, 100 << 20)));
    let last = compile("large", 8, 100 << 20);
    assert!(Arc::ptr_eq(&small, &compile("small", 0, 1 << 20)));
    assert!(Arc::ptr_eq(&last, &compile("large", 8, 100 << 20)));
    assert!(!Arc::ptr_eq(&first, &compile("large", 0, 100 << 20)));
}

#[test]
fn many_forms_of_an_account_leave_the_large_one_of_another() {
    let grammars = grammars();
    let compile = |account: &str, number: usize, bytes: usize| {
        compile_in(&grammars, account, form(json!({ "const": number })), bytes).expect("a grammar")
    };
    let large = compile("one", 0, 100 << 20);
    (0..200).for_each(|number| drop(compile("many", number, 0)));
    assert!(Arc::ptr_eq(&large, &compile("one", 0, 100 << 20)));
}

#[test]
fn a_form_over_a_limit_of_the_library_says_so() {
    let multiples = [9_973, 9_967, 9_949].map(|number| json!({ "type": "integer", "multipleOf": number }));
    let names = |step: usize| (0..1_000).map(|place| format!("n{}", place * step)).collect::<Vec<_>>();
    let names: Vec<_> = (0..8).map(|step| json!({ "enum": names(step) })).collect();
    for complex in [json!({ "allOf": multiples }), json!({ "allOf": names })] {
        let refused = compile(form(complex)).expect_err("a refusal");
        assert!(refused.is_complex, "{refused}");
    }
    assert!(!compile(form(json!({ "not": {} }))).expect_err("a refusal").is_complex);
}

#[test]
fn an_ambiguous_grammar_fails_at_its_first_dear_step() {
    let rules: Vec<String> =
        (0..300).map(|rule| format!("s{rule}: s s{} | | \"a\"", (rule * 7 + 1) % 300)).collect();
    let alternatives: Vec<String> = (0..300).map(|rule| format!("s s{rule} s")).collect();
    let text = format!("start: s\ns: {} | \"a\"\n{}", alternatives.join(" | "), rules.join("\n"));
    let failed = compile(shaped(Shape::Lark(text))).and_then(|grammar| {
        let mut guide = grammar.start();
        (0..32).try_for_each(|_| guide.advance(Some(u32::from(b'a'))).map(drop))
    });
    let failed = failed.expect_err("a refusal");
    assert!(failed.is_complex && failed.field == "structured_outputs", "{failed}");
}

#[test]
fn a_form_is_tried_out_as_it_was_asked_for() {
    for shape in [
        Shape::Schema(person()),
        Shape::Regex("a b|c".into()),
        Shape::Choice(vec!["yes\n".into(), "no \"no\"".into()]),
        Shape::Lark("start: \"a\" other\nother: /b+/".into()),
    ] {
        assert_eq!(shape.to_string().parse(), Ok(shape.clone()));
        assert!(trial::check(&shape.to_string()).is_ok(), "{shape}");
    }
    let refused = trial::check("lark start: other").expect_err("a refusal");
    assert!(refused.contains("unknown name"), "{refused}");
    assert!(trial::check("nothing").is_err());
}

fn shaped(shape: Shape) -> Form {
    Form { shape, field: "structured_outputs" }
}

/// Complete random answers of a shape.
fn answers(shape: Shape) -> Vec<String> {
    let grammar = compile(shaped(shape)).expect("a grammar");
    let answers = (0..60).map(|seed| answer(&grammar, seed, 200));
    answers.map(|(text, is_complete)| if is_complete { text } else { panic!("{text}") }).collect()
}

#[test]
fn an_expression_matches_the_whole_answer() {
    let texts = answers(Shape::Regex(r"[A-C]{2}/(x|yy)[0-9]".into()));
    for text in &texts {
        let (head, tail) = text.split_once('/').expect("a slash");
        assert!(head.len() == 2 && head.bytes().all(|byte| (b'A'..=b'C').contains(&byte)), "{text}");
        let digit = tail.strip_prefix('x').or_else(|| tail.strip_prefix("yy")).expect("x or yy");
        assert!(digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
    }
}

#[test]
fn a_choice_is_one_of_its_texts_whatever_they_hold() {
    let choices = ["yes", "no", "no way", "a \"quoted\" one\n", "[a-z]+", "Grüße \\ 🦀"];
    let texts = answers(Shape::Choice(choices.map(str::to_owned).to_vec()));
    assert!(texts.iter().all(|text| choices.contains(&text.as_str())), "{texts:?}");
    assert!(choices.iter().all(|choice| texts.iter().any(|text| text == choice)), "{texts:?}");
}

#[test]
fn a_grammar_is_followed() {
    let sums = "start: term (\"+\" term){1,3}\nterm: NUMBER | \"(\" NUMBER \")\"\nNUMBER: /[1-9]/";
    for text in answers(Shape::Lark(sums.into())) {
        let terms: Vec<_> = text.split('+').collect();
        assert!((2..=4).contains(&terms.len()), "{text}");
        let is_term = |term: &&str| term.trim_matches(['(', ')']).len() == 1 && [1, 3].contains(&term.len());
        assert!(terms.iter().all(is_term), "{text}");
    }
}

#[test]
fn what_is_invalid_or_too_costly_is_refused_in_words() {
    for (shape, words) in [
        (Shape::Regex("a(".into()), "cannot be kept to"),
        (Shape::Regex("(?=a)b".into()), "cannot be kept to"),
        (Shape::Regex("a".repeat(20_000)), "16384 bytes"),
        (Shape::Choice(vec![]), "1 to 1024 texts"),
        (Shape::Choice(vec![String::new()]), "no empty text"),
        (Shape::Lark("start: \"a".into()), "cannot be kept to"),
        (Shape::Lark("begin: \"a\"".into()), "cannot be kept to"),
        (Shape::Lark("start: other".into()), "cannot be kept to"),
        (Shape::Lark("start: start".into()), "cannot be kept to"),
        (Shape::Lark("root ::= \"a\"".into()), "EBNF or GBNF"),
        (Shape::Lark("start: %json {}".into()), "no %json"),
        (Shape::Lark("start: <[3]>".into()), "no <["),
    ] {
        let said = match compile(shaped(shape.clone())) {
            Err(refused) => refused.reason,
            Ok(_) => panic!("{shape:?} is taken"),
        };
        assert!(said.contains(words), "{shape:?}: {said}");
    }
}

#[test]
fn brackets_as_deep_as_a_form_may_have_them_break_nothing() {
    let (open, close) = ("(".repeat(8_000), ")".repeat(8_000));
    assert!(compile(shaped(Shape::Lark(format!("start: {open}\"a\"{close}")))).is_err());
    assert!(compile(shaped(Shape::Regex(format!("{open}a{close}")))).is_err());
}
