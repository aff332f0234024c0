// The console without scripts: every page is complete, and every form works.
import { send } from "../lib/api.js";
import { absent, assert, seen } from "../lib/checks.js";
import { byPassword, choose, firstAccount, isIn, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";
import { addressed } from "../pages.js";

export default async function play() {
  const { page, troubles } = await operator({ scripts: false });
  const account = await firstAccount();
  await choose(page, "ada@example.com");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await byPassword(page, "ada@example.com");
  await isIn(page);

  await page.goto(`${world.console}/${account}/keys`);
  await page.getByLabel("Name").fill("by hand");
  await page.getByRole("button", { name: "Create key" }).click();
  const shown = await seen(page.getByRole("region", { name: "Your new key" }));
  await absent(shown.getByRole("button", { name: "Copy" }));
  const key = await shown.locator("code").first().innerText();
  await send(key, "By hand");

  await page.goto(`${world.console}/${account}/keys`);
  const row = page.getByRole("row").filter({ hasText: "by hand" });
  await row.getByText("Revoke", { exact: true }).click();
  await row.getByRole("button", { name: "Revoke this key" }).click();
  await seen(row.getByText("revoked"));

  for (const { name, path, heading } of addressed({ account }).filter(({ isOutside, status }) => !isOutside && !status)) {
    const answer = await page.goto(`${world.console}${path}`);
    assert.equal(answer.status(), 200, name);
    await seen(page.getByRole("heading", { level: 1, name: heading }));
    await absent(page.getByText("live", { exact: true }).filter({ visible: true }));
    for (const time of await page.locator("time").allTextContents()) assert.match(time, /\d/, name);
  }
  assert.deepEqual(troubles.filter((trouble) => !/40[34]/.test(trouble)), []);
}
