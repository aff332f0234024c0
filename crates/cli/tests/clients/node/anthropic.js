// The package @anthropic-ai/sdk: messages, batches of messages, models and errors.
import assert from "node:assert/strict";
import {
  BAD_KEY, client, collect, MODEL, options, play, poll, raises, rows, seenNatively, TOKENS, waitForRequests, WAITING_MODEL,
} from "./support.js";

const Anthropic = await client();
const anthropic = new Anthropic(options("/anthropic"));
const { batches: messageBatches } = anthropic.messages;
const params = (content, model = MODEL) => (
  { model, max_tokens: TOKENS, temperature: 0, messages: [{ role: "user", content }] }
);
const requests = (count, model) => rows(count).map((row) => ({ custom_id: row, params: params(row, model) }));

async function messages() {
  const message = await anthropic.messages.create(params("Hello"));
  assert.deepEqual([message.role, message.content[0].type], ["assistant", "text"]);
  const stream = anthropic.messages.stream(params("Hello"));
  let text = "";
  stream.on("text", (piece) => {
    text += piece;
  });
  assert.equal((await stream.finalMessage()).content[0].text, text);
}

const end = ({ id }) => poll(() => messageBatches.retrieve(id), (batch) => batch.processing_status === "ended");
const nativeId = ({ id }) => id.replace("msgbatch_", "batch_");

async function batches() {
  const bad = { custom_id: "bad", params: { ...params("x"), messages: [] } };
  const batch = await end(await messageBatches.create({ requests: [...requests(6), bad] }));
  assert.deepEqual([batch.request_counts.succeeded, batch.request_counts.errored], [6, 1]);
  const results = await collect(await messageBatches.results(batch.id));
  const succeeded = results.filter(({ result }) => result.type === "succeeded");
  assert.deepEqual(succeeded.map((result) => result.custom_id).sort(), rows(6));
  assert.equal(results.find((result) => result.custom_id === "bad").result.error.error.type, "invalid_request_error");
  await seenNatively(nativeId(batch), "completed", { completed: 6, failed: 1 });

  const waiting = await messageBatches.create({ requests: requests(4, WAITING_MODEL) });
  await waitForRequests(nativeId(waiting), 4);
  await messageBatches.cancel(waiting.id);
  assert.equal((await end(waiting)).request_counts.canceled, 4);
  await seenNatively(nativeId(waiting), "cancelled", { cancelled: 4 });
  const listed = await collect(messageBatches.list({ limit: 1 }));
  assert.deepEqual(listed.map(({ id }) => id), [waiting.id, batch.id]);
  assert.equal((await messageBatches.delete(waiting.id)).id, waiting.id);
  await raises(Anthropic.NotFoundError, () => messageBatches.retrieve(waiting.id));
}

async function errors() {
  const models = await collect(anthropic.models.list());
  assert.ok(models.some((model) => model.id === MODEL), models);
  await raises(Anthropic.AuthenticationError, () => new Anthropic(options("/anthropic", BAD_KEY)).models.list());
  await raises(Anthropic.NotFoundError, () => messageBatches.retrieve("msgbatch_none"));
  await raises(Anthropic.BadRequestError, () => anthropic.messages.create({ ...params("x"), messages: [] }));
}

await play(messages, batches, errors);
