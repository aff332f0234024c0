//! Identifiers: a type prefix and 26 base-32 digits of a UUIDv7 (the TypeID form), so that they sort by creation time.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGIT_COUNT: usize = 26;
const RANDOM_BITS: u32 = 74;

/// A kind of identifier; its prefix distinguishes it on the wire.
pub trait Kind {
    /// The text before the underscore.
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        $(#[$doc])*
        pub type $name = Id<$kind>;
    )*};
}

kinds! {
    /// A request: `req_…`.
    RequestKind RequestId "req";
    /// A batch: `batch_…`.
    BatchKind BatchId "batch";
    /// An uploaded file: `file_…`.
    FileKind FileId "file";
    /// A file uploaded in parts: `upload_…`.
    UploadKind UploadId "upload";
    /// A part of an upload: `part_…`.
    PartKind PartId "part";
    /// The file of a batch's answers: `file_output_…`, with the bits of the batch.
    OutputFileKind OutputFileId "file_output";
    /// The file of a batch's errors: `file_errors_…`, with the bits of the batch.
    ErrorFileKind ErrorFileId "file_errors";
    /// The file of a batch's requests, if none was uploaded for them: `file_input_…`, with the bits of the batch.
    InputFileKind InputFileId "file_input";
    /// An account: `acct_…`.
    AccountKind AccountId "acct";
    /// An API key: `key_…`.
    KeyKind KeyId "key";
    /// A grant of credits: `grant_…`.
    GrantKind GrantId "grant";
    /// A user of the console: `usr_…`.
    UserKind UserId "usr";
    /// A payment of credits: `pay_…`.
    PaymentKind PaymentId "pay";
    /// An event sent by webhook: `evt_…`.
    EventKind EventId "evt";
    /// One try to deliver an event: `whd_…`.
    DeliveryKind DeliveryId "whd";
    /// A request as a response of OpenAI's API: `resp_…`, with the bits of the request.
    ResponseKind ResponseId "resp";
    /// One HTTP call, named in `X-Request-Id`: `call_…`.
    CallKind CallId "call";
    /// A request in Anthropic's API: `msg_…` with the bits of its [`RequestId`].
    MessageKind MessageId "msg";
    /// A batch in Anthropic's API: `msgbatch_…` with the bits of its [`BatchId`].
    MessageBatchKind MessageBatchId "msgbatch";
}

/// An identifier of kind `K`: 128 bits laid out as a UUIDv7.
pub struct Id<K>(u128, PhantomData<K>);

impl<K> Id<K> {
    /// The identifier with these bits.
    pub const fn from_bits(bits: u128) -> Self {
        Id(bits, PhantomData)
    }

    /// The 128 bits, most significant first in [`Id::to_bytes`].
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The bits as stored: big endian, so that bytes sort like identifiers.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The identifier stored in `bytes`; `None` unless there are 16.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self::from_bits(u128::from_be_bytes(bytes.try_into().ok()?)))
    }
}

impl<K> Id<K> {
    fn digits(self) -> [u8; DIGIT_COUNT] {
        let mut digits = [0u8; DIGIT_COUNT];
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            *digit = DIGITS[(self.0 >> (5 * place)) as usize & 31];
        }
        digits
    }

    /// The identifier of something that happened at `now_ms`, distinguished by the low 74 bits of `digest`: the same for the same two.
    pub fn derived(now_ms: i64, digest: u128) -> Self {
        let random = digest & ((1 << RANDOM_BITS) - 1);
        lay_out(u64::try_from(now_ms).unwrap_or(0), random)
    }
}

impl<K: Kind> Id<K> {
    /// Reads the wire form; `None` for another kind, another length, or a digit outside the alphabet.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(K::PREFIX)?.strip_prefix('_')?.as_bytes();
        if digits.len() != DIGIT_COUNT || digits[0] > b'7' {
            return None;
        }
        digits
            .iter()
            .try_fold(0u128, |bits, digit| {
                let value = DIGITS.iter().position(|candidate| candidate == digit)?;
                Some(bits << 5 | value as u128)
            })
            .map(Self::from_bits)
    }

    /// The identifier of kind `L` with the same bits: another name of the same thing.
    pub const fn renamed<L: Kind>(self) -> Id<L> {
        Id::from_bits(self.0)
    }

    /// Appends the wire form.
    pub fn append_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(K::PREFIX.as_bytes());
        out.push(b'_');
        out.extend_from_slice(&self.digits());
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::PREFIX)?;
        f.write_str("_")?;
        f.write_str(std::str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Generates identifiers that rise strictly, whatever the clock does: within one millisecond, or after the clock stepped back, the random
/// part counts on from the last one (RFC 9562 §6.2, monotonic random).
#[derive(Debug, Default)]
pub struct IdSequence {
    last_ms: u64,
    last_random: u128,
}

impl IdSequence {
    /// The next identifier at `now_ms`, with the low 74 bits of `random`.
    pub fn next<K>(&mut self, now_ms: i64, random: u128) -> Id<K> {
        let now_ms = u64::try_from(now_ms).unwrap_or(0);
        let random = random & ((1 << RANDOM_BITS) - 1);
        if now_ms > self.last_ms {
            (self.last_ms, self.last_random) = (now_ms, random);
        } else {
            self.last_random += 1 + (random & 0xffff_ffff);
            if self.last_random >> RANDOM_BITS != 0 {
                (self.last_ms, self.last_random) = (self.last_ms + 1, random);
            }
        }
        lay_out(self.last_ms, self.last_random)
    }
}

const fn lay_out<K>(ms: u64, random: u128) -> Id<K> {
    let (high, low) = (random >> 62, random & ((1 << 62) - 1));
    Id::from_bits(((ms & 0xffff_ffff_ffff) as u128) << 80 | 7 << 76 | high << 64 | 2 << 62 | low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_from_its_wire_form(bits: u128) {
            let id = RequestId::from_bits(bits);
            prop_assert_eq!(RequestId::parse(&id.to_string()), Some(id));
            prop_assert_eq!(BatchId::parse(&id.to_string()), None);
            let mut text = b"\"".to_vec();
            id.append_to(&mut text);
            prop_assert_eq!(String::from_utf8_lossy(&text), format!("\"{id}"));
        }

        #[test]
        fn ids_rise_strictly_whatever_the_clock_does(steps in prop::collection::vec((-3i64..3, any::<u128>()), 1..200)) {
            let mut sequence = IdSequence::default();
            let (mut now_ms, mut last) = (1_700_000_000_000, RequestId::from_bits(0));
            for (step, random) in steps {
                now_ms += step;
                let id = sequence.next(now_ms, random);
                prop_assert!(id > last && id.to_string() > last.to_string());
                last = id;
            }
        }
    }

    #[test]
    fn what_is_derived_is_told_by_its_time_and_its_digest() {
        let id = RequestId::derived(1_700_000_000_000, 7);
        assert_eq!(id, RequestId::derived(1_700_000_000_000, 7 | 1 << 74));
        assert_ne!(id, RequestId::derived(1_700_000_000_000, 8));
        assert!(id < RequestId::derived(1_700_000_000_001, 0));
        assert_eq!(IdSequence::default().next::<RequestKind>(1_700_000_000_000, 7), id);
    }

    #[test]
    fn only_the_exact_form_is_an_id() {
        let id = RequestId::from_bits(u128::MAX).to_string();
        assert_eq!(id, "req_7zzzzzzzzzzzzzzzzzzzzzzzzz");
        for wrong in [
            "",
            "req_",
            "req",
            "req_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "req_7zzzzzzzzzzzzzzzzzzzzzzzz",
            "req_7Zzzzzzzzzzzzzzzzzzzzzzzzz",
            "batch_7zzzzzzzzzzzzzzzzzzzzzzzzz",
        ] {
            assert_eq!(RequestId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_id_reads_back_from_its_bytes_which_sort_as_it_does() {
        let (low, high) = (RequestId::from_bits(0x01ff), RequestId::from_bits(0x0200));
        assert_eq!((low.bits(), low.to_bytes()[14..].to_vec()), (0x01ff, vec![1, 0xff]));
        assert!(low < high && low.to_bytes() < high.to_bytes());
        assert_eq!(RequestId::from_bytes(&low.to_bytes()), Some(low));
        assert_eq!(RequestId::from_bytes(&[0; 15]), None);
        assert_eq!(format!("{low:?}"), low.to_string(), "logs show what clients read");
        assert_eq!(low.renamed::<BatchKind>(), BatchId::from_bits(0x01ff));
    }

    #[test]
    fn equal_ids_are_one_key() {
        let ids = [1, 2, 1].map(RequestId::from_bits);
        assert_eq!(std::collections::HashSet::from(ids).len(), 2);
        let hash = |id: RequestId| {
            use std::hash::BuildHasher as _;
            std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(id)
        };
        assert_ne!(hash(ids[0]), hash(ids[1]), "so that a map of many stays fast");
    }

    #[test]
    fn an_id_is_a_uuid_of_version_7_with_its_time() {
        let random = (1 << RANDOM_BITS) - 1;
        for random in [0, random, random / 3] {
            let bits = IdSequence::default().next::<RequestKind>(0x0123_4567_89ab, random).bits();
            assert_eq!(bits >> 80, 0x0123_4567_89ab);
            assert_eq!((bits >> 76 & 0xf, bits >> 62 & 3), (7, 2), "version and variant of RFC 9562");
            assert_eq!((bits >> 64 & 0xfff) << 62 | bits & ((1 << 62) - 1), random);
        }
    }

    #[test]
    fn where_a_millisecond_has_no_more_room_the_next_is_taken() {
        let mut sequence = IdSequence::default();
        let largest = (1 << RANDOM_BITS) - 1;
        let first: RequestId = sequence.next(1_000, largest);
        let second: RequestId = sequence.next(1_000, 5);
        assert_eq!((first.bits() >> 80, second.bits() >> 80), (1_000, 1_001));
        assert_eq!(second, RequestId::derived(1_001, 5));
        let third: RequestId = sequence.next(1_000, 9);
        assert_eq!(third, RequestId::derived(1_001, 5 + 1 + 9), "it counts on, by a random step");
    }
}
