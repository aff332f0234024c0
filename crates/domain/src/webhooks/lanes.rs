//! How many deliveries each receiver may have under way.
//!
//! A delivery lane is an account and one of its receivers' hosts, or some of very many: deliveries in a lane wait only for those of the
//! same lane. An account takes no more than a quarter of what is left for all others, however many of its receivers are slow: one such
//! account takes a fifth of all, two a sixth each, and so on. That is the dynamic threshold of shared-memory switches (Choudhury, Hahne:
//! "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998).

use std::collections::BTreeMap;

/// Lanes of an account: its hosts share them, so their number has a bound. Two hosts share a lane one time in so many.
const LANES_OF_ACCOUNT: i64 = 256;

const LANE_TRIES_MAX: usize = 8;

/// An account may have one of so many parts of what is left.
const SHARE: usize = 4;

/// Maximum of concurrent tries in all.
pub const TRIES_AT_ONCE: usize = 256;

/// A delivery lane, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryLane(pub i64);

impl DeliveryLane {
    /// A lane of the account in this row; one host always has the same digest.
    pub const fn of(account: i64, digest: u8) -> Self {
        Self(account * LANES_OF_ACCOUNT + digest as i64)
    }

    /// The account, by row number.
    pub const fn account(self) -> i64 {
        self.0.div_euclid(LANES_OF_ACCOUNT)
    }
}

/// The tries under way.
#[derive(Debug, Default)]
pub struct Room {
    taken: usize,
    by_lane: BTreeMap<DeliveryLane, usize>,
    by_account: BTreeMap<i64, usize>,
}

impl Room {
    /// How many more tries may begin in a lane now.
    pub fn left(&self, lane: DeliveryLane) -> usize {
        let in_lane = self.by_lane.get(&lane).copied().unwrap_or(0);
        LANE_TRIES_MAX.saturating_sub(in_lane).min(self.left_for(lane.account()))
    }

    /// Each try of an account is one less that is left for all others. An account without a try gets one as long as there is one.
    fn left_for(&self, account: i64) -> usize {
        let (free, own) = (TRIES_AT_ONCE.saturating_sub(self.taken), self.taken_by(account));
        (free.saturating_sub(SHARE * own) / (SHARE + 1)).max(usize::from(own == 0 && free > 0))
    }

    /// Tries of an account under way.
    pub fn taken_by(&self, account: i64) -> usize {
        self.by_account.get(&account).copied().unwrap_or(0)
    }

    /// Tries under way.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// A try begins.
    pub fn take(&mut self, lane: DeliveryLane) {
        self.taken += 1;
        *self.by_lane.entry(lane).or_default() += 1;
        *self.by_account.entry(lane.account()).or_default() += 1;
    }

    /// A try has ended.
    pub fn release(&mut self, lane: DeliveryLane) {
        self.taken = self.taken.saturating_sub(1);
        lessen(&mut self.by_lane, &lane);
        lessen(&mut self.by_account, &lane.account());
    }
}

fn lessen<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all that an account may have.
    fn fill(room: &mut Room, account: i64) -> usize {
        for digest in 0..16 {
            let lane = DeliveryLane::of(account, digest);
            for _ in 0..room.left(lane) {
                room.take(lane);
            }
            let lane_taken = room.by_lane.get(&lane).copied().unwrap_or(0);
            assert!(lane_taken <= LANE_TRIES_MAX);
        }
        room.taken_by(account)
    }

    #[test]
    fn something_is_left_however_many_are_slow() {
        let mut room = Room::default();
        assert_eq!(fill(&mut room, 1), 51);
        assert_eq!(fill(&mut room, 2), 41);
        for account in 3..=12 {
            fill(&mut room, account);
        }
        assert!(room.left(DeliveryLane::of(13, 0)) >= 3, "{} are taken", room.taken());
        for account in 14..200 {
            fill(&mut room, account);
        }
        assert_eq!(room.taken(), TRIES_AT_ONCE, "none stays idle while somebody has none");
        assert_eq!(room.left(DeliveryLane::of(500, 0)), 0);
        let mut room = Room::default();
        for _ in 0..50 {
            for account in 1..=10 {
                let lane = DeliveryLane::of(account, 0);
                if room.left(lane) > 0 {
                    room.take(lane);
                }
            }
        }
        assert_eq!(
            room.left(DeliveryLane::of(11, 3)),
            LANE_TRIES_MAX,
            "ten slow hosts take eight places each"
        );
    }

    #[test]
    fn what_is_given_back_is_free() {
        let mut room = Room::default();
        fill(&mut room, 7);
        for digest in 0..16 {
            let lane = DeliveryLane::of(7, digest);
            while room.by_lane.contains_key(&lane) {
                room.release(lane);
            }
        }
        assert!(room.taken() == 0 && room.by_account.is_empty());
        assert_eq!(room.left(DeliveryLane::of(7, 1)), LANE_TRIES_MAX);
        assert_eq!((DeliveryLane::of(-3, 200).account(), DeliveryLane::of(5, 255).account()), (-3, 5));
    }
}
