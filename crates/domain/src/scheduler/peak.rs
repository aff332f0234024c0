//! The highest speed that the engines of a model were seen to reach. An account that will have them to itself will not be faster in
//! proportion to its slots: an engine that works on more requests concurrently takes longer for each.

/// Completions that show how fast engines are; fewer are chance.
const WINDOW: u32 = 256;
/// A shorter time is no evidence.
const WINDOW_MS: i64 = 10_000;
/// Discount of what was seen, for each window since then.
const FADING: f64 = 1.02;
/// Maximum time counted between two looks.
const LOOK_MS: i64 = 10_000;

/// The least slot time per unit of cost while all slots were taken.
#[derive(Debug, Default)]
pub(super) struct Peak {
    completions: u32,
    used: i64,
    busy_ms: i64,
    taken_ms: i64,
    passed_at: Option<i64>,
    least_slot_ms: Option<f64>,
}

impl Peak {
    pub(super) const fn note_completion(&mut self, used: i64) {
        self.completions = self.completions.saturating_add(1);
        self.used = self.used.saturating_add(used);
    }

    /// Time passed, in which so many slots were taken: nearly all (`are_all`), while more requests wait, or not. Called about once a
    /// second.
    pub(super) fn pass(&mut self, taken: usize, are_all: bool, now: i64) {
        let since = self.passed_at.replace(now);
        if !are_all {
            *self = Self { passed_at: self.passed_at, least_slot_ms: self.least_slot_ms, ..Self::default() };
            return;
        }
        let ms = since.map_or(0, |since| (now - since).clamp(0, LOOK_MS));
        self.busy_ms += ms;
        self.taken_ms = self.taken_ms.saturating_add(ms.saturating_mul(i64::try_from(taken).unwrap_or(0)));
        if self.completions >= WINDOW && self.busy_ms >= WINDOW_MS && self.taken_ms > 0 {
            let slot_ms = self.taken_ms as f64 / self.used.max(1) as f64;
            let least = self.least_slot_ms.map_or(slot_ms, |least| slot_ms.min(least * FADING));
            *self = Self { passed_at: self.passed_at, least_slot_ms: Some(least), ..Self::default() };
        }
    }

    /// The least slot time per unit of cost while all slots are taken, in milliseconds; `None` if not known yet.
    pub(super) const fn least_slot_ms(&self) -> Option<f64> {
        self.least_slot_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_window_counts_and_fades() {
        let mut peak = Peak::default();
        let mut run = |seconds: i64, used: i64, are_all: bool| {
            for _ in 0..seconds {
                (0..30).for_each(|_| peak.note_completion(used));
                let now = peak.passed_at.map_or(0, |at| at + 1_000);
                peak.pass(60, are_all, now);
            }
            peak.least_slot_ms()
        };
        assert_eq!(run(10, 100, true), None, "nine seconds tell nothing");
        assert_eq!(run(5, 100, false), None, "some slots were free");
        let first = run(11, 100, true).unwrap();
        assert!((19.0..=20.0).contains(&first), "{first}");
        let slower = run(11, 50, true).unwrap();
        assert!(slower > first && slower < first * 1.05, "{slower}");
        let faster = run(22, 200, true).unwrap();
        assert!((9.0..=10.5).contains(&faster), "{faster}");
    }
}
