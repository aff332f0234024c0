// Assertions that say what was expected, and waits for what is to come about.
import assert from "node:assert/strict";

export const PATIENCE_MS = 20_000;

export { assert };

/// Waits until `look` gives something true; what it gave.
export async function until(what, look) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not come to pass that ${what}`);
    await new Promise((next) => setTimeout(next, 25));
  }
}

/// Waits until the page shows it.
export async function seen(locator) {
  await locator.first().waitFor({ state: "visible" });
  return locator;
}

/// Nothing of what was looked for is wrong.
export function nothing(wrong) {
  if (wrong.length) throw new Error(wrong.join("\n"));
}

/// The page must not hold it.
export async function absent(locator) {
  assert.equal(await locator.count(), 0, `not expected on the page: ${locator}`);
}
