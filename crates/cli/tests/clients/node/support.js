// Shared by the scripts: the service's address, the lines of a batch, and the native API's view of a batch.
import assert from "node:assert/strict";

const LONGEST_MS = 150_000;
const STEP_MS = 100;
const STEPS_MAX = 600;

export const { CLIENT_URL: url, CLIENT_KEY: key } = process.env;
export const MODEL = "overnight-tiny";
// No engine serves it, so its requests wait until they are cancelled.
export const WAITING_MODEL = "waiting";
export const BAD_KEY = "on_live_wrong";
// Used at temperature 0: a random answer could be empty.
export const TOKENS = 6;

setTimeout(() => {
  console.error(`it took longer than ${LONGEST_MS / 1000} s`);
  process.exit(1);
}, LONGEST_MS).unref();

// The class of the package that the script was started with.
export async function client() {
  return (await import(process.argv[2])).default;
}

export const options = (path, apiKey = key) => ({ baseURL: url + path, apiKey, timeout: 60_000, maxRetries: 0 });

export async function play(...parts) {
  for (const part of parts) {
    await part();
    console.log("ok", part.name);
  }
}

export const rows = (count) => Array.from({ length: count }, (_, number) => `row-${number}`);

export async function collect(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

export async function poll(read, isDone) {
  let found;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    found = await read();
    if (isDone(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  assert.fail(`it does not end: ${JSON.stringify(found)}`);
}

async function native(path) {
  const answer = await fetch(`${url}/v1${path}`, { headers: { "X-API-Key": key } });
  return answer.json();
}

// Waits until every line of the batch is a request; before that, a cancel would have no request to cancel.
export async function waitForRequests(id, count) {
  await poll(() => native(`/batches/${id}`), (batch) => batch.requests_ids.length === count);
}

// The batch in the native API.
export async function seenNatively(id, status, counts) {
  const batch = await native(`/batches/${id}`);
  assert.equal(batch.status, status);
  const found = Object.fromEntries(Object.entries(batch.requests_counts).filter(([, count]) => count > 0));
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  assert.deepEqual(found, { ...counts, total });
}

// Checks that a call fails with exactly this class.
export async function raises(kind, call) {
  await assert.rejects(call, (error) => {
    assert.equal(error.constructor.name, kind.name, error.stack);
    return true;
  });
}
