// A key is created and shown once, its request is watched to the end, and the revoked key no longer works.
import { call, done, ended, request, send } from "../lib/api.js";
import { absent, assert, seen, until } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { delayAnswers, world } from "../lib/world.js";
import { exists } from "../pages.js";

export default async function play() {
  const { page, troubles } = await operator();
  const account = await firstAccount();
  const key = await make(page, account);

  await delayAnswers(3_000);
  if (exists("requests")) await watch(page, account, key);
  else await ended(key, "requests", await send(key, "Good evening"));

  await page.goto(`${world.console}/${account}/keys`);
  const row = page.getByRole("row").filter({ hasText: "nightly-eval" });
  await row.getByText("Revoke", { exact: true }).click();
  await row.getByRole("button", { name: "Revoke this key" }).click();
  await seen(page.getByRole("status").filter({ hasText: "The key is revoked" }));
  await seen(row.getByText("revoked"));
  await absent(row.getByRole("button", { name: "Revoke this key" }));
  const isRefused = async () => (await call(key, "POST", "/v1/requests", request("Too late"))).status === 401;
  await until("the revoked key is refused", isRefused);
  assert.deepEqual(troubles, []);
}

async function make(page, account) {
  await page.goto(`${world.console}/${account}/keys`);
  await page.getByLabel("Name").fill("nightly-eval");
  await page.getByLabel("Expires").selectOption("in 30 days");
  await page.getByRole("button", { name: "Create key" }).click();
  const shown = page.getByRole("region", { name: "Your new key" });
  const key = await (await seen(shown)).locator("code").first().innerText();
  assert.match(key, /^on_live_/);
  assert.ok(await page.title().then((title) => !title.includes(key)));
  await page.goto(`${world.console}/${account}/keys`);
  await seen(page.getByRole("row").filter({ hasText: "nightly-eval" }));
  assert.ok(!(await page.content()).includes(key), "the key is shown once");
  return key;
}

/// The list updates a running request without a reload; its page shows the prompt and the answer.
async function watch(page, account, key) {
  await page.goto(`${world.console}/${account}/requests`);
  await page.evaluate(() => { window.isSame = true; });
  const id = await send(key, "Good evening from a browser");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href$="${id}"]`) });
  await seen(row.getByText(/registered|in progress/));
  await seen(row.getByText("completed"));
  assert.equal(await page.evaluate(() => window.isSame), true, "the page was not loaded again");
  await row.getByRole("link").first().click();
  await page.waitForURL(`**/requests/${id}`);
  await seen(page.getByText("Good evening from a browser"));
  const { result_body: result } = await done(key, "GET", `/v1/requests/${id}`);
  const answer = result.choices[0].message.content;
  await seen(page.getByText(answer.slice(0, 20)));
}
