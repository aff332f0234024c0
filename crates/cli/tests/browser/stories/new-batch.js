// Lines are priced and sent as a batch, which is watched, downloaded, resubmitted after failures, found, and cancelled.
import { readFile } from "node:fs/promises";
import { absent, assert, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { delayAnswers, world } from "../lib/world.js";

const line = (text) => JSON.stringify({ custom_id: text, body: { model: "m", max_tokens: 16, messages: [{ role: "user", content: text }] } });
const LINES = ["one", "two", "three [[sim:status=400]]"].map(line);

export default async function play() {
  // A download ends the navigation to its page.
  const allows = (trouble) => trouble.includes("422") || trouble.endsWith("/results net::ERR_ABORTED");
  const { page, troubles } = await operator({ allows });
  const account = await firstAccount();
  const home = `${world.console}/${account}`;

  await page.goto(`${home}/new`);
  await price(page);
  await page.getByRole("button", { name: "Send as a batch" }).click();
  await page.waitForURL(/\/batches\/batch_/);
  await seen(page.getByRole("status").filter({ hasText: "The batch is sent" }));
  const batch = page.url().match(/batch_\w+/)[0];
  await seen(page.getByRole("heading", { name: "reviews, by hand" }));
  await seen(page.getByText("2 completed"));
  await seen(page.getByText("1 failed"));
  await seen(page.getByText("a simulated error").first());
  await download(page, batch);

  await page.getByText("Send them again", { exact: true }).click();
  await page.getByRole("button", { name: "Send 1 again" }).click();
  await page.waitForURL((url) => url.pathname.includes("/batches/") && !url.pathname.includes(batch));
  await seen(page.getByRole("heading", { name: "reviews, by hand (again)" }));
  await find(page, home);
  await cancel(page, home);
  assert.deepEqual(troubles, []);
}

/// Faults are shown line by line; a file's price is shown without leaving the page.
async function price(page) {
  await page.getByLabel("Lines").fill(`${LINES[0]}\nnot JSON\n${line("two").replace('"m"', '"unknown"')}`);
  await page.getByRole("button", { name: "Check and price" }).click();
  await seen(page.getByText("2 lines cannot be sent"));
  await seen(page.getByRole("listitem").filter({ hasText: "line 2" }));
  await page.getByRole("button", { name: "Send as a batch" }).click();
  await seen(page.getByRole("alert"));
  await seen(page.getByText("2 lines cannot be sent"));
  await page.getByLabel("Lines").fill("");
  await page.getByLabel("or a file: choose one, or drop it here").setInputFiles({ name: "reviews.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(LINES.join("\n")) });
  await page.getByLabel("Name of the batch").fill("reviews, by hand");
  await page.getByRole("button", { name: "Check and price" }).click();
  await seen(page.getByRole("heading", { name: "3 requests can be sent" }));
  await seen(page.getByText(/They cost at most \$/));
}

async function download(page, batch) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download results" }).click()]);
  assert.equal(file.suggestedFilename(), `${batch}.jsonl`);
  const records = (await readFile(await file.path(), "utf8")).trim().split("\n").map((text) => JSON.parse(text));
  assert.deepEqual(records.map(({ status }) => status).sort(), ["completed", "completed", "failed"]);
}

/// By name, by metadata, and by identifier.
async function find(page, home) {
  await page.goto(`${home}/batches`);
  await page.getByLabel("Identifier, name or metadata").fill("(again)");
  await page.getByRole("button", { name: "Find" }).click();
  await seen(page.getByRole("link", { name: "reviews, by hand (again)" }));
  await absent(page.getByRole("link", { name: "reviews, by hand", exact: true }));
  await page.goto(`${home}/requests`);
  await page.getByLabel("Identifier or metadata").fill("custom_id=two");
  await page.getByRole("button", { name: "Find" }).click();
  const link = page.getByRole("table").getByRole("link");
  assert.equal(await link.count(), 1);
  const id = (await link.getAttribute("href")).split("/").at(-1);
  await page.getByLabel("Identifier or metadata").fill(id);
  await page.getByRole("button", { name: "Find" }).click();
  await page.waitForURL(`**/requests/${id}`);
}

async function cancel(page, home) {
  await delayAnswers(600_000);
  await page.goto(`${home}/new`);
  await page.getByLabel("Lines").fill(LINES.slice(0, 2).join("\n"));
  await page.getByRole("button", { name: "Send as a batch" }).click();
  await page.waitForURL(/\/batches\/batch_/);
  await page.getByText("Cancel batch", { exact: true }).click();
  await seen(page.getByText(/Cancel 2 unfinished requests\?/));
  await page.getByRole("button", { name: "Cancel this batch" }).click();
  await seen(page.getByText("2 cancelled"));
}
