// Stripe's own library and the service: its signed events are booked, and it reads the events and objects of our simulated Stripe.
import assert from "node:assert/strict";
import Stripe from "stripe";

const { SERVICE_URL, STRIPE_URL, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET } = process.env;
const orders = JSON.parse(process.env.ORDERS);
const address = new URL(STRIPE_URL);
const stripe = new Stripe(STRIPE_SECRET_KEY, { host: address.hostname, port: address.port, protocol: "http", maxNetworkRetries: 0 });

const sign = (payload, more = {}) =>
  stripe.webhooks.generateTestHeaderString({ payload, secret: STRIPE_WEBHOOK_SECRET, ...more });

async function tell(payload, signature) {
  const headers = { "content-type": "application/json", "stripe-signature": signature };
  const answer = await fetch(`${SERVICE_URL}/hooks/stripe`, { method: "POST", headers, body: payload });
  return answer.status;
}

async function theLibraryReadsWhatTheStandInShows() {
  for (const { session, payment } of orders) {
    const found = await stripe.checkout.sessions.retrieve(session);
    assert.equal(found.object, "checkout.session");
    assert.equal(found.client_reference_id, payment);
    assert.equal(found.metadata.overnight_payment, payment);
    assert.equal(found.payment_status, "paid");
    const [only] = (await stripe.checkout.sessions.list({ payment_intent: found.payment_intent, limit: 1 })).data;
    assert.equal(only.id, session);
  }
  await assert.rejects(stripe.checkout.sessions.retrieve("cs_unknown"), Stripe.errors.StripeInvalidRequestError);
}

async function theLibraryBelievesWhatTheStandInSigns() {
  for (const { snapshot, thin } of orders) {
    const event = stripe.webhooks.constructEvent(snapshot.body, snapshot.signature, STRIPE_WEBHOOK_SECRET);
    assert.equal(event.type, "checkout.session.completed");
    const notification = stripe.parseEventNotification(thin.body, thin.signature, STRIPE_WEBHOOK_SECRET);
    assert.equal(notification.type, "v1.checkout.session.completed");
    assert.equal(notification.related_object.id, event.data.object.id);
  }
}

async function whatIsSignedWronglyOrLongAgoIsRefused() {
  const { body } = orders[0].snapshot;
  assert.equal(await tell(body, sign(body, { secret: "whsec_of_another" })), 400);
  assert.equal(await tell(body, sign(body, { timestamp: Math.floor(Date.now() / 1000) - 600 })), 400);
  assert.equal(await tell(`${body} `, sign(body)), 400);
  assert.equal(await tell(body, sign(body, { scheme: "v0" })), 400);
}

async function whatTheLibrarySignsIsBooked() {
  const [one, other] = orders;
  assert.equal(await tell(one.snapshot.body, sign(one.snapshot.body)), 200);
  assert.equal(await tell(other.thin.body, sign(other.thin.body)), 200);
  // During the rotation of a secret, a header has a signature with each.
  const rolled = `${sign(one.snapshot.body)},${sign(one.snapshot.body, { secret: "whsec_of_before" }).split(",")[1]}`;
  assert.equal(await tell(one.snapshot.body, rolled), 200);
}

for (const part of [
  theLibraryReadsWhatTheStandInShows,
  theLibraryBelievesWhatTheStandInSigns,
  whatIsSignedWronglyOrLongAgoIsRefused,
  whatTheLibrarySignsIsBooked,
]) {
  await part();
  console.log("ok", part.name);
}
