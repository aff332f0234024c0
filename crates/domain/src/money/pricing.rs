//! Prices of tokens.

use super::credits::Credits;

const TOKENS_PRICED: u128 = 1_000_000;

/// A model's prices, in credits per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pricing {
    /// Per million input tokens.
    pub input: Credits,
    /// Per million output tokens.
    pub output: Credits,
}

/// Maximum of tokens that a request is expected to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenBound {
    /// Input tokens.
    pub input: u64,
    /// Output tokens, all completions together. The engine must stop there.
    pub output: u64,
}

impl Pricing {
    /// The prices of a model; `None` if it has neither. Of two, an absent one is 0.
    pub fn of(input: Option<Credits>, output: Option<Credits>) -> Option<Self> {
        let is_priced = input.is_some() || output.is_some();
        is_priced.then(|| Self { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
    }

    /// The cost of so many tokens: the exact sum, rounded up once to the next nano-credit, and at most [`Credits::MAX`].
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> Credits {
        let part = |tokens: u64, price: Credits| {
            u128::from(tokens) * u128::from(price.nanos().max(0).unsigned_abs())
        };
        let nanos = part(input_tokens, self.input) + part(output_tokens, self.output);
        let nanos = i64::try_from(nanos.div_ceil(TOKENS_PRICED)).unwrap_or(i64::MAX);
        Credits::from_nanos(nanos).min(Credits::MAX)
    }

    /// The hold of a request: its cost if it uses all that it may.
    pub fn hold(&self, bound: TokenBound) -> Credits {
        self.cost(bound.input, bound.output)
    }

    /// The charge of a completed request, which is what it used but never more than was held; and by how much that falls short.
    pub fn capture(&self, hold: Credits, input_tokens: u64, output_tokens: u64) -> (Credits, Credits) {
        let cost = self.cost(input_tokens, output_tokens);
        let charge = cost.min(hold);
        (charge, cost.checked_sub(charge).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pricing(input: &str, output: &str) -> Pricing {
        Pricing { input: input.parse().unwrap(), output: output.parse().unwrap() }
    }

    #[test]
    fn a_cost_is_the_exact_sum_rounded_up_once() {
        for (input, output, tokens, nanos) in [
            ("0.10", "0.15", (0, 0), 0),
            ("0.10", "0.15", (1_000_000, 1_000_000), 250_000_000),
            ("0.10", "0.15", (475, 12), 49_300),
            ("0.000000001", "0.000000001", (1, 0), 1),
            ("0.000000001", "0.000000001", (500_000, 500_000), 1),
            ("0.000000001", "0.000000001", (500_000, 500_001), 2),
            ("0", "0", (u64::MAX, u64::MAX), 0),
            ("999999999", "999999999", (u64::MAX, u64::MAX), Credits::MAX.nanos()),
        ] {
            let cost = pricing(input, output).cost(tokens.0, tokens.1);
            assert_eq!(cost, Credits::from_nanos(nanos), "{input} {output} {tokens:?}");
        }
    }

    #[test]
    fn a_charge_is_what_was_used_and_never_above_the_hold() {
        let pricing = pricing("1", "2");
        let hold = pricing.hold(TokenBound { input: 100, output: 50 });
        let credits = Credits::from_nanos;
        assert_eq!(hold, credits(200_000));
        assert_eq!(pricing.capture(hold, 40, 10), (credits(60_000), Credits::ZERO));
        assert_eq!(pricing.capture(hold, 100, 50), (hold, Credits::ZERO));
        assert_eq!(pricing.capture(hold, 101, 50), (hold, credits(1_000)));
    }

    #[test]
    fn a_model_without_prices_is_free_and_of_two_prices_an_absent_one_is_0() {
        let price = Credits::from_nanos(7);
        assert_eq!(Pricing::of(None, None), None);
        assert_eq!(Pricing::of(Some(price), None), Some(Pricing { input: price, output: Credits::ZERO }));
        assert_eq!(Pricing::of(None, Some(price)), Some(Pricing { input: Credits::ZERO, output: price }));
    }
}
