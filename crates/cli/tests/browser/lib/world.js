// The service's address, and actions that only the test's process can do.
import { createInterface } from "node:readline";

const need = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: the Rust test starts this`);
  return value;
};

export const world = {
  url: need("CONSOLE_URL"),
  console: `${need("CONSOLE_URL")}/console`,
  signInUrl: need("CONSOLE_SIGN_IN_URL"),
  apiKey: need("CONSOLE_API_KEY"),
  receiver: need("CONSOLE_RECEIVER_URL"),
  pictures: need("CONSOLE_PICTURES"),
};

const lines = createInterface({ input: process.stdin });
const waiting = [];
lines.on("line", (line) => waiting.shift()(JSON.parse(line)));

const ask = (what, given) =>
  new Promise((answered) => {
    waiting.push(answered);
    console.log(`@ask ${JSON.stringify({ what, ...given })}`);
  });

/// The JSON of an operator's command.
export const command = (line) => ask("command", { line });

/// Sets the engine's delay of each answer.
export const delayAnswers = (ms) => ask("delay answers", { ms });

/// Pays an order at the provider, which notifies the service.
export async function pay(session) {
  const at = Math.floor(Date.now() / 1000);
  for (const { body, signature } of await ask("pay", { session, at })) {
    const headers = { "Stripe-Signature": signature, "Content-Type": "application/json" };
    const heard = await fetch(`${world.url}/hooks/stripe`, { method: "POST", headers, body });
    if (!heard.ok) throw new Error(`the notice was answered ${heard.status}: ${await heard.text()}`);
  }
}

export const close = () => lines.close();
