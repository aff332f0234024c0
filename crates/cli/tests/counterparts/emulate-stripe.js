// The Stripe of npm's `emulate`: it refuses an order, because it does not create prices within an order; it notifies the service of its own
// purchase with its signature.
import assert from "node:assert/strict";
import { createEmulator } from "emulate";

const { SERVICE_URL, STRIPE_WEBHOOK_SECRET, PORT } = process.env;
const emulator = await createEmulator({
  service: "stripe",
  port: Number(PORT),
  seed: {
    stripe: {
      products: [{ name: "Credits" }],
      prices: [{ id: "price_1", product_name: "Credits", currency: "usd", unit_amount: 500 }],
      webhooks: [{ url: `${SERVICE_URL}/hooks/stripe`, events: ["*"], secret: STRIPE_WEBHOOK_SECRET }],
    },
  },
});
const headers = { authorization: "Bearer sk_test_emulate", "content-type": "application/x-www-form-urlencoded" };
const order = new URLSearchParams({ mode: "payment", "line_items[0][price]": "price_1", "line_items[0][quantity]": "1" });
const made = await fetch(`${emulator.url}/v1/checkout/sessions`, { method: "POST", headers, body: order });
assert.equal(made.status, 200);
const session = await made.json();
const paid = await fetch(`${emulator.url}/checkout/${session.id}/complete`, { method: "POST", redirect: "manual" });
assert.ok(paid.status < 400, `${paid.status}`);
const figures = await (await fetch(`${SERVICE_URL}/metrics`)).text();
const figure = (outcome) => figures.split("\n").find((line) => line.includes("payment_notices_total") && line.includes(outcome));
assert.match(figure('"nothing"'), / [1-9]\d*$/, "it was told, signed, of purchases that are none of the service's");
assert.match(figure('"refused"'), / 0$/, "no signature was refused");
console.log("ready");
process.stdin.on("end", () => process.exit(0)).resume();
