//! Markers in a prompt by which a test directs one request.
//!
//! `[[sim:NAME]]`, `[[sim:NAME=ARGUMENT]]`, either with ` xN` before the brackets close. Markers apply in the order written, each for N
//! attempts of that prompt (without `xN` for all that follow). When all are used up, the prompt is answered as usual: `[[sim:status=503
//! x2]]` fails twice and then succeeds. The names are those of [`Fault`], `behaviour=NAME` with the name of a [`Behaviour`], and `ok`, the
//! usual answer. In addition, `[[sim:tokens=N]]` sets the completion's length, and `[[sim:say]]` makes the prompt itself the answer.

use super::behaviours::Behaviour;
use super::faults::Fault;

const OPEN: &str = "[[sim:";

#[derive(Debug, Default, PartialEq)]
pub(super) struct Script {
    turns: Vec<(Option<Fault>, u32)>,
    /// The completion's length in tokens, if a marker sets it.
    pub(super) completion_tokens: Option<usize>,
    pub(super) says_it_back: bool,
}

impl Script {
    /// Reads every marker of the content. An unknown marker is an error, so that a misspelt test cannot pass.
    pub(super) fn parse(content: &str) -> Result<Self, String> {
        let mut script = Self::default();
        let mut rest = content;
        while let Some(start) = rest.find(OPEN) {
            rest = &rest[start + OPEN.len()..];
            let end = rest.find("]]").ok_or("a simulation marker is not closed")?;
            script
                .take(&rest[..end])
                .ok_or_else(|| format!("unknown simulation marker `{}`", &rest[..end]))?;
            rest = &rest[end + 2..];
        }
        Ok(script)
    }

    fn take(&mut self, marker: &str) -> Option<()> {
        let (what, times) = match marker.split_once(" x") {
            Some((what, times)) => (what, times.parse().ok()?),
            None => (marker, u32::MAX),
        };
        let (name, argument) = match what.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (what, None),
        };
        match name {
            "tokens" => self.completion_tokens = Some(argument?.parse().ok()?),
            "say" if argument.is_none() => self.says_it_back = true,
            "ok" if argument.is_none() => self.turns.push((None, times)),
            "behaviour" => self.turns.push((Some(Behaviour::named(argument?)?.fault), times)),
            _ => self.turns.push((Some(Fault::parse(name, argument)?), times)),
        }
        Some(())
    }

    /// Whether the prompt holds a marker whose effect depends on the attempt.
    pub(super) fn is_directed(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The fault for this attempt, counted from 1.
    pub(super) fn fault(&self, attempt: u32) -> Option<Fault> {
        let mut left = attempt;
        for (fault, times) in &self.turns {
            if left <= *times {
                return *fault;
            }
            left -= times;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_take_turns_and_then_the_prompt_is_clean() {
        let script = Script::parse("a [[sim:status=429/7 x2]] b [[sim:ok x1]][[sim:reset x1]]").unwrap();
        let limited = Some(Fault::Status { code: 429, retry_after_s: Some(7) });
        let seen: Vec<_> = (1..=5).map(|attempt| script.fault(attempt)).collect();
        assert_eq!(seen, [limited, limited, None, Some(Fault::ResetBeforeHeaders), None]);
    }

    #[test]
    fn a_marker_without_a_count_lasts() {
        let script = Script::parse("[[sim:die=50]][[sim:tokens=3]][[sim:say]]").unwrap();
        assert_eq!(script.fault(1_000), Some(Fault::Die { ms: 50 }));
        assert!(script.says_it_back);
        assert_eq!(script.completion_tokens, Some(3));
    }

    #[test]
    fn a_misspelt_marker_is_refused() {
        for content in ["[[sim:hnag]]", "[[sim:status=200]]", "[[sim:hang=1]]", "[[sim:drip]]", "[[sim:hang"]
        {
            assert!(Script::parse(content).is_err(), "{content}");
        }
    }
}
