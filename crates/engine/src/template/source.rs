//! The dialect of published templates, beyond Jinja itself.

/// Disables `{% generation %}` blocks, which mark the assistant's words for training.
pub(super) fn adapt(source: &str) -> String {
    let mut adapted = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let (before, tag_and_after) = rest.split_at(start);
        let (tag, after) = tag_and_after.split_at(length + 2);
        adapted.push_str(before);
        let word = tag[2..length].trim_matches(|edge: char| edge.is_whitespace() || "-+".contains(edge));
        match word {
            "generation" => adapted.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => adapted.push_str(&tag.replace("endgeneration", "endif")),
            _ => adapted.push_str(tag),
        }
        rest = after;
    }
    adapted.push_str(rest);
    adapted
}
