// One prompt is entered and sent; its page shows the answer and the cost, and can send it again.
import { assert, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

export default async function play() {
  const { page, troubles } = await operator({ allows: (trouble) => trouble.includes("422") });
  const home = `${world.console}/${await firstAccount()}`;
  await page.goto(`${home}/playground`);
  await page.getByLabel("Prompt").fill("What is the capital of France?");
  await page.getByLabel("Temperature").fill("warm");
  await page.getByRole("button", { name: "Send" }).click();
  await seen(page.getByRole("alert").filter({ hasText: "The temperature must be a number" }));
  assert.equal(await page.getByLabel("Prompt").inputValue(), "What is the capital of France?");
  await page.getByLabel("Temperature").fill("0.5");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL(/\/requests\/req_/);
  await seen(page.getByText("What is the capital of France?"));
  await seen(page.getByRole("listitem").filter({ hasText: "Completed" }));
  await seen(page.getByText("Charged", { exact: true }));

  await page.reload();
  const sent = page.url();
  await page.getByRole("button", { name: "Send again" }).click();
  await page.waitForURL((url) => url.pathname.includes("/requests/req_") && !sent.includes(url.pathname));
  await seen(page.getByText("What is the capital of France?"));
  await page.goto(`${home}/models`);
  await seen(page.getByRole("cell", { name: "available" }));

  // The account's navigation remains on pages without an account.
  await page.goto(`${world.console}/you`);
  await page.getByRole("link", { name: "Playground" }).click();
  await seen(page.getByRole("heading", { name: "Playground" }));
  assert.deepEqual(troubles, []);
}
