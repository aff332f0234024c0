// Assertions with messages, and waits.
import assert from "node:assert/strict";

export const PATIENCE_MS = 20_000;

export { assert };

/// Waits until `look` returns something truthy; returns it.
export async function until(what, look) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not come to pass that ${what}`);
    await new Promise((next) => setTimeout(next, 25));
  }
}

export async function seen(locator) {
  await locator.first().waitFor({ state: "visible" });
  return locator;
}

/// Checks that a list of faults is empty.
export function nothing(wrong) {
  if (wrong.length) throw new Error(wrong.join("\n"));
}

export async function absent(locator) {
  assert.equal(await locator.count(), 0, `not expected on the page: ${locator}`);
}
