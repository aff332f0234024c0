// Fills an account with data through the API and the operator's commands.
import { done, ended, group, request, send } from "./api.js";
import { assert, until } from "./checks.js";
import { invite } from "./signing-in.js";
import { command, delayAnswers, world } from "./world.js";

const PROMPTS = [
  "Summarise the minutes of the meeting in three sentences, and name who is to do what until when.",
  "Translate into French: the night train leaves at eleven, and nobody is on the platform.",
  "Is this review positive or negative? “It works, mostly, and when it does not it says why.”",
];

/// Fills the account; returns the names of the new things.
export async function fill(owner, account) {
  await command(`account activate ${account}`);
  for (const grant of ["250 --source invoice-2024-017", "12.5", "-2.5"]) await command(`account grant ${account} ${grant}`);
  const { key } = await command(`key create --account ${account} --name nightly-evaluation-of-everything`);
  await keys(account);
  for (const [email, role] of [["olga@example.com", "owner"], ["dan@example.com", "developer"]]) {
    await command(`user create ${email} --account ${account} --role ${role}`);
  }
  const link = await invite(owner, account, "vera.of-a-very-long-name@research.example.com", "viewer");
  const batches = await endedWork(key);
  const largeBatch = await largeWork(key);
  const live = await liveWork(key);
  const spent = await command(`account ledger ${account} --kind charge --limit 1`);
  assert.equal(spent.length, 1);
  const event = await until("a webhook is delivered and another given up", async () => {
    const events = await command(`webhook events --account ${account}`);
    const states = new Set(events.map(({ state }) => state));
    return states.has("delivered") && states.has("exhausted") && events[0].id;
  });
  return { account, event, invitation: link.split("/").at(-1), key, largeBatch, ...batches, ...live };
}

async function keys(account) {
  const { id: revoked } = await command(`key create --account ${account} --name left-on-a-train`);
  await command(`key revoke ${revoked}`);
  await command(`key create --account ${account} --name for-a-moment --expires-in 1ms`);
  await command(`key create --account ${account} --name ci --expires-in 90d`);
  await command(`key create --account ${account}`);
}

async function endedWork(key) {
  const metadata = (row) => ({ row, dataset: "reviews-2024", split: "test" });
  const some = (count, marker = "") =>
    Promise.all(Array.from({ length: count }, (_, row) =>
      send(key, `${PROMPTS[row % PROMPTS.length]} (${row}) ${marker}`, { metadata: metadata(row) })));
  const [request, ...rest] = await some(24);
  const batch = await group(key, [request, ...rest], { webhook: `${world.receiver}/taken`, metadata: { batch_name: "reviews, nightly" } });
  const failing = await some(6, "[[sim:status=400]]");
  const refused = await some(2, "[[sim:status=422]]");
  const failedBatch = await group(key, [...failing, ...refused, ...(await some(4, "fine"))], {
    webhook: `${world.receiver}/status/503`, metadata: { batch_name: "with failures" },
  });
  const told = await send(key, "Tell me once you are through.", { webhook: `${world.receiver}/flaky/1` });
  await Promise.all([ended(key, "batches", batch), ended(key, "batches", failedBatch), ended(key, "requests", told)]);
  await ended(key, "requests", failing[0], "failed");
  return { request, batch, failedBatch, failedRequest: failing[0] };
}

/// A batch of a thousand rows, each with a name, a long prompt and metadata; some fail.
async function largeWork(key) {
  const rows = Array.from({ length: 1_000 }, (_, row) => JSON.stringify(request(
    `${PROMPTS[row % PROMPTS.length]} Row ${row} of the table, which says more than a line of a list can show. ${row % 4 ? "" : "[[sim:status=400]]"}`,
    { metadata: { custom_id: `review-2024-${row}`, dataset: "reviews-2024", split: "test" } },
  )));
  const headers = { "X-API-Key": key, "Content-Type": "application/x-ndjson" };
  const answer = await fetch(`${world.url}/v1/requests`, { method: "POST", headers, body: rows.join("\n") });
  const made = (await answer.text()).trim().split("\n").map((line) => JSON.parse(line).id);
  assert.equal(made.length, rows.length);
  const batch = await group(key, made, { metadata: { batch_name: "a thousand rows" } });
  await ended(key, "batches", batch);
  return batch;
}

/// The engine answers earlier prompts immediately, and these never within the story.
async function liveWork(key) {
  await delayAnswers(600_000);
  const some = (count, name) => Promise.all(Array.from({ length: count }, (_, row) => send(key, `${PROMPTS[row % 3]} ${name} ${row}`)));
  const cancelled = await some(5, "never mind");
  const cancelledBatch = await group(key, cancelled, { metadata: { batch_name: "a mistake" } });
  await done(key, "POST", `/v1/batches/${cancelledBatch}/cancel`);
  const running = await some(40, "takes its time");
  const liveBatch = await group(key, running, { metadata: { batch_name: "embeddings of the whole archive, second half" } });
  await ended(key, "batches", liveBatch, "in progress");
  return { liveBatch, cancelledBatch, liveRequest: running.at(-1) };
}
