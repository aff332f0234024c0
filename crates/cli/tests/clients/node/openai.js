// The package openai: files, uploads in parts, batches, chat completions, responses, models and errors.
import assert from "node:assert/strict";
import { File } from "node:buffer";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BAD_KEY, client, collect, MODEL, options, play, poll, raises, rows, seenNatively, TOKENS, waitForRequests, WAITING_MODEL,
} from "./support.js";

const OpenAI = await client();
const openai = new OpenAI(options("/openai/v1"));
const chat = (content, model = MODEL) => (
  { model, messages: [{ role: "user", content }], max_tokens: TOKENS, temperature: 0 }
);

const line = (custom_id, body) => JSON.stringify({ custom_id, method: "POST", url: "/v1/chat/completions", body });
const lines = (count, model) => rows(count).map((row) => `${line(row, chat(row, model))}\n`).join("");
const read = (text) => text.trimEnd().split("\n").map((answer) => JSON.parse(answer));
const customIds = (text) => read(text).map((answer) => answer.custom_id).sort();

async function files() {
  const folder = await mkdtemp(join(tmpdir(), "overnight-"));
  const path = join(folder, "rows.jsonl");
  await writeFile(path, lines(3));
  const ofPath = await openai.files.create({ file: createReadStream(path), purpose: "batch" });
  await rm(folder, { recursive: true });
  assert.deepEqual([ofPath.filename, ofPath.bytes, ofPath.status], ["rows.jsonl", lines(3).length, "processed"]);
  const expires_after = { anchor: "created_at", seconds: 3600 };
  const ofFile = await openai.files.create({ file: new File([lines(1)], "one.jsonl"), purpose: "batch", expires_after });
  assert.equal(ofFile.expires_at, ofFile.created_at + 3600);
  const listed = await collect(openai.files.list({ limit: 1 }));
  assert.deepEqual(listed.map((file) => file.id), [ofFile.id, ofPath.id]);
  assert.deepEqual(await openai.files.retrieve(ofPath.id), ofPath);
  assert.equal(await (await openai.files.content(ofPath.id)).text(), lines(3));
  for (const { id } of listed) assert.equal((await openai.files.delete(id)).deleted, true);
  await raises(OpenAI.NotFoundError, () => openai.files.retrieve(ofPath.id));
}

async function uploads() {
  const content = lines(20);
  const kind = { filename: "rows.jsonl", bytes: content.length, mime_type: "application/jsonl", purpose: "batch" };
  const { id } = await openai.uploads.create(kind);
  const add = async (text) => openai.uploads.parts.create(id, { data: await OpenAI.toFile(Buffer.from(text)) });
  const [last, first] = await Promise.all([add(content.slice(700)), add(content.slice(0, 700))]);
  await raises(OpenAI.BadRequestError, () => openai.uploads.complete(id, { part_ids: [last.id] }));
  const upload = await openai.uploads.complete(id, { part_ids: [first.id, last.id] });
  assert.deepEqual([upload.status, upload.file.status, upload.file.bytes], ["completed", "processed", content.length]);
  assert.equal(await (await openai.files.content(upload.file.id)).text(), content);
  await openai.files.delete(upload.file.id);
  await raises(OpenAI.ConflictError, () => openai.uploads.cancel(id));
  const other = await openai.uploads.create(kind);
  assert.equal((await openai.uploads.cancel(other.id)).status, "cancelled");
}

async function createBatch(content, more = {}) {
  const file = await openai.files.create({ file: await OpenAI.toFile(Buffer.from(content), "rows.jsonl"), purpose: "batch" });
  const named = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  return openai.batches.create({ ...named, ...more });
}

const ENDS = ["completed", "failed", "expired", "cancelled"];
const end = ({ id }) => poll(() => openai.batches.retrieve(id), (batch) => ENDS.includes(batch.status));

async function batches() {
  const batch = await end(await createBatch(lines(10), { metadata: { job: "nightly" } }));
  assert.deepEqual([batch.status, batch.metadata, batch.request_counts.completed], ["completed", { job: "nightly" }, 10]);
  const text = await (await openai.files.content(batch.output_file_id)).text();
  assert.deepEqual(customIds(text), rows(10).sort());
  for (const { response } of read(text)) assert.equal(response.body.object, "chat.completion");
  await seenNatively(batch.id, "completed", { completed: 10 });

  const failed = await end(await createBatch(`${lines(1)}no JSON\n`));
  assert.deepEqual([failed.status, failed.errors.data.map((error) => error.line)], ["failed", [2]]);

  const waiting = await createBatch(lines(4, WAITING_MODEL));
  await waitForRequests(waiting.id, 4);
  await openai.batches.cancel(waiting.id);
  const cancelled = await end(waiting);
  assert.equal(cancelled.status, "cancelled");
  const errors = read(await (await openai.files.content(cancelled.error_file_id)).text());
  assert.deepEqual(errors.map((answer) => answer.error.code), Array(4).fill("batch_cancelled"));
  await seenNatively(waiting.id, "cancelled", { cancelled: 4 });
  const listed = await collect(openai.batches.list({ limit: 1 }));
  assert.deepEqual(listed.map(({ id }) => id), [waiting.id, failed.id, batch.id]);
}

async function completions() {
  const completion = await openai.chat.completions.create(chat("Hello"));
  assert.ok(completion.choices[0].message.content && completion.usage.completion_tokens <= TOKENS, completion);
  let text = "";
  for await (const chunk of await openai.chat.completions.create({ ...chat("Hello"), stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  assert.ok(text);
  const once = () => openai.chat.completions.create(chat("Once"), { headers: { "Idempotency-Key": "row-17" } });
  assert.deepEqual(await once(), await once());
}

async function responses() {
  const asked = { model: MODEL, input: "Hello", max_output_tokens: 8, temperature: 0 };
  const response = await openai.responses.create(asked);
  assert.ok(response.output_text, response);
  assert.equal((await openai.responses.retrieve(response.id)).output_text, response.output_text);
  const events = await collect(await openai.responses.create({ ...asked, stream: true }));
  assert.equal(events[0].type, "response.created");
  assert.match(events.at(-1).type, /^response\.(completed|incomplete)$/);
  const waiting = await openai.responses.create({ ...asked, model: WAITING_MODEL, background: true });
  assert.equal(waiting.status, "queued");
  assert.equal((await openai.responses.cancel(waiting.id)).status, "cancelled");
  await openai.responses.delete(waiting.id);
  await raises(OpenAI.NotFoundError, () => openai.responses.retrieve(waiting.id));
}

async function errors() {
  const models = await collect(openai.models.list());
  assert.ok(models.some((model) => model.id === MODEL), models);
  assert.equal((await openai.models.retrieve(MODEL)).id, MODEL);
  await raises(OpenAI.AuthenticationError, () => new OpenAI(options("/openai/v1", BAD_KEY)).models.list());
  await raises(OpenAI.NotFoundError, () => openai.batches.retrieve("batch_none"));
  await raises(OpenAI.BadRequestError, () => openai.chat.completions.create({ model: MODEL, messages: [] }));
}

await play(files, uploads, batches, completions, responses, errors);
