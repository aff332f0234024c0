// A chart shows the value of the bar under the pointer or chosen with the arrow keys.
import { ended, send } from "../lib/api.js";
import { assert, seen, until } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

export default async function play() {
  const { page, troubles } = await operator();
  const account = await firstAccount();
  const sent = await Promise.all(["one", "two"].map((text) => send(world.apiKey, text)));
  for (const id of sent) await ended(world.apiKey, "requests", id);
  await ended(world.apiKey, "requests", await send(world.apiKey, "three [[sim:status=400]]"), "failed");

  await page.goto(`${world.console}/${account}`);
  const chart = page.getByRole("img", { name: /^Requests that ended/ });
  await seen(chart);
  // The first hour of an account is shown separately.
  await seen(page.getByText("per 5 minutes, the last hour"));
  const told = page.locator("#ended .told");
  const whole = await until("all of them are told", async () => (await told.innerText()).startsWith("3 in all") && told.innerText());
  await chart.focus();
  await page.keyboard.press("End");
  // Five minutes may have ended meanwhile.
  if ((await told.innerText()).endsWith("nothing")) await page.keyboard.press("ArrowLeft");
  assert.match(await told.innerText(), /^\d+ \w+ \d\d:\d\d: 2 completed, 1 failed$/);
  await page.keyboard.press("Home");
  assert.match(await told.innerText(), /: nothing$/);
  await page.keyboard.press("Tab");
  assert.equal(await told.innerText(), whole);
  await chart.hover({ position: { x: 5, y: 20 } });
  assert.match(await told.innerText(), /: nothing$/);
  await page.mouse.move(0, 0);
  assert.equal(await told.innerText(), whole);

  await page.getByRole("link", { name: "7 d" }).click();
  await seen(page.getByText("per 3 hours, the last 7 days"));
  await page.getByText("the same as a table").click();
  const row = page.getByRole("region", { name: "What ended" }).getByRole("row").nth(1);
  assert.match(await row.innerText(), /\b2\b.*\b1\b.*\b0\b/s);
  assert.deepEqual(troubles, []);
}
