// A receiver is tested, its deliveries are viewed and repeated, and the secret is replaced.
import { absent, assert, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

export default async function play() {
  const { page, troubles } = await operator({ allows: (trouble) => trouble.includes("422") });
  const home = `${world.console}/${await firstAccount()}`;

  await page.goto(`${home}/webhooks`);
  await seen(page.getByRole("heading", { name: "No event yet" }));
  await page.getByLabel("Address").fill("ftp://hooks.example.com");
  await page.getByRole("button", { name: "Send a test event" }).click();
  await seen(page.getByRole("alert"));

  await page.getByLabel("Address").fill(`${world.receiver}/taken`);
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.waitForURL(/\/webhooks\/evt_/);
  await seen(page.getByRole("heading", { name: "webhook.test" }));
  await seen(page.getByText("delivered"));
  await page.getByRole("button", { name: "Send it again" }).click();
  await seen(page.getByRole("status").filter({ hasText: "sent again" }));
  await seen(page.getByRole("row").filter({ hasText: /HTTP 2\d\d/ }).nth(1));

  await page.goto(`${home}/webhooks?state=exhausted`);
  await absent(page.getByRole("row"));
  await page.goto(`${home}/webhooks`);
  await page.getByText("Show the secret").click();
  const secret = await page.locator("#secret").innerText();
  assert.match(secret, /^whsec_/);
  await page.getByText("Replace the secret", { exact: true }).first().click();
  await page.getByRole("button", { name: "Replace the secret" }).click();
  await seen(page.getByRole("status").filter({ hasText: "new secret" }));
  await seen(page.getByText("the secret before it is signed with too"));
  await page.getByText("Show the secret").click();
  assert.notEqual(await page.locator("#secret").innerText(), secret);
  assert.deepEqual(troubles, []);
}
