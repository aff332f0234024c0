use super::super::{Json, minimize};
use super::compact;

const MIB: usize = 1 << 20;

#[test]
fn a_million_elements_are_walked() {
    let text = compact(&format!("[{}1]", "{} , ".repeat(1_000_000)));
    let json = Json::from_stored(text.as_bytes()).expect("UTF-8");
    assert_eq!(json.elements().expect("an array").count(), 1_000_001);
}

#[test]
fn a_hundred_thousand_keys_are_told_apart() {
    let members: Vec<String> = (0..100_000).map(|index| format!("\"k{index}\":{index}")).collect();
    let distinct = compact(&format!("{{{}}}", members.join(",")));
    let object = Json::from_stored(distinct.as_bytes()).expect("UTF-8").to_object().expect("an object");
    assert!(object.duplicate_keys().is_empty());
    let doubled = compact(&format!("{{{},\"k\\u0037\":0}}", members.join(",")));
    let object = Json::from_stored(doubled.as_bytes()).expect("UTF-8").to_object().expect("an object");
    assert_eq!(object.duplicate_keys(), ["k7"]);
}

#[test]
fn keys_and_numbers_of_a_mebibyte_are_taken_in() {
    let key = "k".repeat(MIB);
    let text = compact(&format!("{{\"{key}\":0.{}}}", "1".repeat(MIB)));
    let object = Json::from_stored(text.as_bytes()).expect("UTF-8").to_object().expect("an object");
    assert_eq!(object.members()[0].0.len(), MIB);
}

#[test]
fn a_million_opening_brackets_are_refused_at_the_sixty_fifth() {
    let error = minimize("[".repeat(1_000_000).as_bytes(), 0).expect_err("too deep");
    assert_eq!(error.offset, 64);
}
