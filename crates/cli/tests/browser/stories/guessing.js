// After five consecutive wrong passwords the next try has to wait, even with the right one.
import { somebody } from "../lib/browser.js";
import { assert, seen, until } from "../lib/checks.js";
import { PASSWORD, byPassword, choose, isIn, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

const EMAIL = "ada@example.com";
const TURNS_MAX = 3;

export default async function play() {
  const { page } = await operator();
  await choose(page, EMAIL);
  // The wait lasts one second. If the machine takes longer for a page, the wait is over before it is seen.
  for (let turn = 1; !(await isHeldUp()); turn += 1) assert.ok(turn < TURNS_MAX, "the right password never has to wait");
}

/// Enters five wrong passwords, then the right one; returns whether that had to wait.
async function isHeldUp() {
  const [guessing, knowing] = [await somebody(), await somebody()];
  await knowing.page.goto(`${world.console}/sign-in`);
  await knowing.page.getByLabel("E-mail address").fill(EMAIL);
  await knowing.page.getByLabel("Password").fill(PASSWORD);
  for (let guess = 1; guess <= 5; guess += 1) {
    await byPassword(guessing.page, EMAIL, `a wrong one, number ${guess}`);
    await seen(guessing.page.getByRole("alert").filter({ hasText: "The e-mail address or the password is wrong" }));
  }
  await knowing.page.getByRole("button", { name: "Sign in" }).click();
  const alert = knowing.page.getByRole("alert");
  await Promise.race([isIn(knowing.page), seen(alert)]);
  const told = (await alert.count()) > 0 ? await alert.innerText() : "";
  if (told) {
    assert.match(told, /This was tried too often: try again in \d+ s\./);
    assert.equal(await knowing.page.getByLabel("E-mail address").inputValue(), EMAIL);
    await until("the right password is taken once the wait is over", async () => {
      await byPassword(knowing.page, EMAIL);
      await knowing.page.waitForLoadState();
      return !new URL(knowing.page.url()).pathname.endsWith("/sign-in");
    });
  }
  await Promise.all([guessing.context.close(), knowing.context.close()]);
  return told !== "";
}
