//! Reasons for refused lines: each is reported once and then counted, so a thousand lines with the same reason take two lines.

const SHOWN: usize = 20;

/// The reasons so far, in the order of their first lines.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    seen: Vec<(String, usize)>,
    /// Lines with further reasons.
    others: usize,
}

impl Reasons {
    /// Counts a line; true if its reason is to be reported with it.
    pub(crate) fn see(&mut self, reason: &str) -> bool {
        if let Some((_, count)) = self.seen.iter_mut().find(|(seen, _)| seen == reason) {
            *count += 1;
            return false;
        }
        let is_told = self.seen.len() < SHOWN;
        match is_told {
            true => self.seen.push((reason.to_owned(), 1)),
            false => self.others += 1,
        }
        is_told
    }

    /// The summary of the other lines; the argument is the phrase for one line and for several.
    pub(crate) fn rest(&self, [one, several]: [&str; 2]) -> Vec<String> {
        let lines = |count: usize| match count {
            1 => format!("1 more line {one}"),
            _ => format!("{count} more lines {several}"),
        };
        let same = self.seen.iter().filter(|(_, count)| *count > 1);
        let same = same.map(|(reason, count)| format!("{}: {reason}", lines(count - 1)));
        let others = (self.others > 0).then(|| format!("{} for other reasons", lines(self.others)));
        same.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_and_then_counted() {
        let mut reasons = Reasons::default();
        let told: Vec<bool> = ["a", "b", "a", "c", "a", "b"].map(|reason| reasons.see(reason)).into();
        assert_eq!(told, [true, true, false, true, false, false]);
        assert_eq!(
            reasons.rest(["was refused", "were refused"]),
            ["2 more lines were refused: a", "1 more line was refused: b"]
        );
    }

    #[test]
    fn reasons_beyond_the_first_are_counted_together() {
        let mut reasons = Reasons::default();
        let told = (0..SHOWN + 5).filter(|number| reasons.see(&number.to_string())).count();
        assert_eq!(
            (told, reasons.rest(["x", "were refused"])),
            (SHOWN, vec!["5 more lines were refused for other reasons".to_owned()])
        );
    }
}
