// Text that would be a script, if any page allowed it: every source of text is shown as text.
import { ended, group, request, done } from "../lib/api.js";
import { absent, assert, seen, until } from "../lib/checks.js";
import { somebody } from "../lib/browser.js";
import { byPassword, choose, firstAccount, isIn, operator } from "../lib/signing-in.js";
import { command, world } from "../lib/world.js";
import { addressed, exists } from "../pages.js";

const HOSTILE = `<script>window.pwned=1</script><img src=x onerror=window.pwned=1>`;
const BREAKOUTS = [`"><script>window.pwned=1</script>`, `'-alert(1)-'{{7*7}}`, `</title></pre><svg onload=window.pwned=1>`];

export default async function play() {
  const { page, troubles } = await operator({ allows: (trouble) => trouble.includes("403") });
  const account = await firstAccount();
  const names = await sow(page, account);
  troubles.length = 0;

  for (const { name, path } of addressed(names).filter(({ isOutside, status }) => !isOutside && !status)) {
    const answer = await page.goto(`${world.console}${path}`);
    assert.equal(answer.status(), 200, name);
    assert.equal(await page.evaluate(() => window.pwned), undefined, name);
    assert.equal(await page.locator("img, iframe, object, embed, main script, svg[onload]").count(), 0, name);
  }
  await page.goto(`${world.console}/${account}/keys`);
  await seen(page.getByRole("cell", { name: HOSTILE, exact: true }));
  for (const text of BREAKOUTS) await seen(page.getByRole("cell", { name: text, exact: true }));
  await page.goto(`${world.console}/${account}/credits`);
  await seen(page.getByRole("cell", { name: HOSTILE, exact: true }));
  if (exists("request")) await shows(page, account, names.request);

  // Text in an address is not shown.
  for (const path of [`/you?flash=${encodeURIComponent(HOSTILE)}`, `/${account}/credits?kind=${encodeURIComponent(HOSTILE)}`]) {
    await page.goto(`${world.console}${path}`);
    await absent(page.getByRole("status"));
    assert.equal(await page.evaluate(() => window.pwned), undefined, path);
  }
  await page.goto(`${world.console}/sign-in/link/${encodeURIComponent(BREAKOUTS[0])}`);
  await seen(page.getByRole("heading", { name: "This link does not work" }));
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(troubles, []);

  // If a page contained it as markup, the policy would stop it, and this story would detect that.
  await page.evaluate((text) => { document.querySelector("main").innerHTML = text; }, HOSTILE);
  await until("the policy is told of", () => troubles.some((trouble) => /^console: .*Content Security Policy/.test(trouble)));
  assert.equal(await page.evaluate(() => window.pwned), undefined);
}

/// Enters it wherever text can be entered.
async function sow(page, account) {
  await choose(page, "ada@example.com");
  for (const name of [HOSTILE, ...BREAKOUTS]) {
    await page.goto(`${world.console}/${account}/keys`);
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create key" }).click();
    await seen(page.getByRole("region", { name: "Your new key" }));
  }
  await page.goto(`${world.console}/operator`);
  await page.getByLabel("New account").fill(HOSTILE);
  await page.getByRole("button", { name: "Make account" }).click();
  await seen(page.getByRole("link", { name: HOSTILE }));
  const row = page.getByRole("row").filter({ hasText: account });
  await row.getByText("Grant credits").click();
  await row.getByLabel(/^Credits/).fill("1");
  await row.getByLabel(/^What it is for/).fill(HOSTILE);
  await row.getByRole("button", { name: /^Grant to/ }).click();
  await seen(page.getByRole("status").filter({ hasText: "The credits are granted" }));
  await browserOfThatName(page);
  const { key } = await command(`key create --account ${account}`);
  const metadata = { batch_name: HOSTILE, [HOSTILE]: BREAKOUTS[0] };
  const { id } = await done(key, "POST", "/v1/requests", { ...request(`[[sim:say]]${HOSTILE}`), metadata });
  const batch = await group(key, [id], { metadata });
  await ended(key, "batches", batch);
  const { result_body: result } = await done(key, "GET", `/v1/requests/${id}`);
  assert.ok(result.choices[0].message.content.includes(HOSTILE), "the engine says it back");
  return { account, request: id, batch };
}

/// Another browser of the operator with this name.
async function browserOfThatName(page) {
  const stranger = await somebody();
  await stranger.context.setExtraHTTPHeaders({ "User-Agent": HOSTILE });
  await byPassword(stranger.page, "ada@example.com");
  await isIn(stranger.page);
  await page.goto(`${world.console}/you`);
  await seen(page.getByRole("cell", { name: HOSTILE }));
  await stranger.context.close();
}

/// Checks that the prompt and the answer are on the request's page as text.
async function shows(page, account, id) {
  await page.goto(`${world.console}/${account}/requests/${id}`);
  const shown = await page.locator("main").innerText();
  assert.ok(shown.split(HOSTILE).length > 2, shown);
}
