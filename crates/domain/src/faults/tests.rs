use super::{FAULTS_KEPT_MAX, Faults, Quoted, codes};

#[test]
fn a_thousand_faults_are_kept_and_all_are_counted() {
    let mut faults = Faults::default();
    assert!(faults.is_empty());
    for index in 0..FAULTS_KEPT_MAX + 5 {
        faults.push(format_args!("messages[{index}]"), codes::WRONG_TYPE, "must be an object");
    }
    assert_eq!(faults.total(), FAULTS_KEPT_MAX + 5);
    assert_eq!(faults.kept().len(), FAULTS_KEPT_MAX);
    assert_eq!(faults.kept()[7].param, "messages[7]");
}

#[test]
fn appended_faults_stay_within_the_bound() {
    let mut all = Faults::default();
    let mut others = Faults::default();
    for _ in 0..600 {
        all.push("a", codes::MISSING, "is needed");
        others.push("b", codes::MISSING, "is needed");
    }
    all.append(others);
    assert_eq!((all.total(), all.kept().len()), (1_200, FAULTS_KEPT_MAX));
    assert_eq!(all.into_kept()[600].param, "b");
}

#[test]
fn quoted_text_is_short_and_printable() {
    assert_eq!(Quoted("na\u{ef}ve\n\u{1b}[0m").to_string(), "na\u{ef}ve\\n\\u{1b}[0m");
    assert_eq!(Quoted("a\u{202e}b\u{200b}").to_string(), "a\\u{202e}b\\u{200b}");
    assert_eq!(Quoted(&"é".repeat(1_000)).to_string(), format!("{}…", "é".repeat(64)));
}
