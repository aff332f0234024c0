mod against_serde;
mod hostile;
mod refusals;
mod repairs;
mod values;

/// The compact text of `text`, which must be taken in.
fn compact(text: &str) -> String {
    super::minimize(text.as_bytes(), 0).expect("well-formed").into_string()
}
