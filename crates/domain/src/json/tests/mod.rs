mod against_serde;
mod hostile;
mod refusals;
mod repairs;
mod values;

fn compact(text: &str) -> String {
    super::minimize(text.as_bytes(), 0).expect("well-formed").into_string()
}
