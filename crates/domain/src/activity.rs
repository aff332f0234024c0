//! What ended of an account's requests in each quarter of an hour, each in three parts.

/// The span of a record, in milliseconds: a quarter of an hour.
pub const QUARTER_MS: i64 = 15 * 60_000;

/// Parts of a quarter of an hour.
pub const PARTS: usize = 3;

/// Five minutes, in milliseconds.
pub const PART_MS: i64 = QUARTER_MS / PARTS as i64;

/// Quarters of an hour since 1970 at `now`, in milliseconds.
pub const fn quarter_of(now: i64) -> i64 {
    now.div_euclid(QUARTER_MS)
}

/// The part of its quarter of an hour that contains `now`, in milliseconds: 0, 1 or 2.
pub const fn part_of(now: i64) -> usize {
    match now.rem_euclid(QUARTER_MS) / PART_MS {
        0 => 0,
        1 => 1,
        _ => 2,
    }
}

/// What ended of an account's requests in one quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityRecord {
    /// Quarters of an hour since 1970.
    pub quarter: i64,
    /// Completed requests.
    pub completed: i64,
    /// Failed requests, including those that expired.
    pub failed: i64,
    /// Requests cancelled by their client.
    pub cancelled: i64,
    /// Input tokens of the completed requests.
    pub prompt_tokens: i64,
    /// Output tokens of the completed requests.
    pub completion_tokens: i64,
    /// Their charge, in nano-credits.
    pub amount: i64,
    /// What of this ended in the first and in the second five minutes. The rest counts as ended in the third.
    pub earlier: [ActivityPart; PARTS - 1],
}

/// What ended in five minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityPart {
    /// Completed requests.
    pub completed: i64,
    /// Failed requests.
    pub failed: i64,
    /// Requests cancelled by their client.
    pub cancelled: i64,
    /// Tokens of input and output.
    pub tokens: i64,
    /// Charge, in nano-credits.
    pub amount: i64,
}

impl ActivityPart {
    /// Adds another part.
    pub const fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.amount = self.amount.saturating_add(other.amount);
    }

    const fn without(&self, other: &Self) -> Self {
        Self {
            completed: self.completed - other.completed,
            failed: self.failed - other.failed,
            cancelled: self.cancelled - other.cancelled,
            tokens: self.tokens.saturating_sub(other.tokens),
            amount: self.amount.saturating_sub(other.amount),
        }
    }
}

impl ActivityRecord {
    /// The sum of all parts.
    pub const fn whole(&self) -> ActivityPart {
        ActivityPart {
            completed: self.completed,
            failed: self.failed,
            cancelled: self.cancelled,
            tokens: self.prompt_tokens.saturating_add(self.completion_tokens),
            amount: self.amount,
        }
    }

    /// What ended in each five minutes, in order.
    pub const fn parts(&self) -> [ActivityPart; PARTS] {
        let [first, second] = self.earlier;
        [first, second, self.whole().without(&first).without(&second)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_an_hour_has_three_parts_and_the_last_has_what_no_other_has() {
        assert_eq!([0, PART_MS - 1, PART_MS, 2 * PART_MS, QUARTER_MS].map(part_of), [0, 0, 1, 2, 0]);
        let part = |completed, tokens| ActivityPart { completed, tokens, ..ActivityPart::default() };
        let record = ActivityRecord {
            completed: 9,
            prompt_tokens: 50,
            completion_tokens: 40,
            earlier: [part(2, 20), part(3, 30)],
            ..ActivityRecord::default()
        };
        assert_eq!(record.parts(), [part(2, 20), part(3, 30), part(4, 40)]);
    }

    #[test]
    fn a_quarter_of_an_hour_is_counted_since_1970() {
        let times = [-1, 0, QUARTER_MS - 1, QUARTER_MS, 96 * QUARTER_MS];
        assert_eq!(times.map(quarter_of), [-1, 0, 0, 1, 96]);
    }

    #[test]
    fn what_ended_besides_is_added_to_each_number() {
        let part = |of| ActivityPart {
            completed: of,
            failed: of * 10,
            cancelled: of * 100,
            tokens: of * 1_000,
            amount: of * 10_000,
        };
        let mut sum = part(2);
        sum.add(&part(3));
        assert_eq!(sum, part(5));
        assert_eq!(part(5).without(&part(3)), part(2));
        sum.add(&ActivityPart { tokens: i64::MAX, amount: i64::MAX, ..ActivityPart::default() });
        assert_eq!((sum.tokens, sum.amount), (i64::MAX, i64::MAX), "at most what can be counted");
    }
}
