// Ways into the console.
import { assert, seen } from "./checks.js";
import { somebody } from "./browser.js";
import { command, world } from "./world.js";

export const PASSWORD = "quiet rivers carry lanterns";

/// Signs in by a link that works once.
export async function byLink(page, link) {
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isIn(page);
}

/// Waits until a visitor is signed in.
export const isIn = (page) => page.waitForURL((url) => !url.pathname.includes("/sign-in"));

/// Signs in on the sign-in page.
export async function byPassword(page, email, password = PASSWORD) {
  await page.goto(`${world.console}/sign-in`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/// The operator, by the link of the first start.
export async function operator(options) {
  const one = await somebody(options);
  await byLink(one.page, world.signInUrl);
  return one;
}

/// Chooses an e-mail address and a password.
export async function choose(page, email, password = PASSWORD) {
  await page.goto(`${world.console}/you`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel(/^(New p|P)assword/).fill(password);
  await page.getByRole("button", { name: "Save" }).click();
  await seen(page.getByRole("status").filter({ hasText: "It is changed" }));
}

/// Invites somebody to an account, as its owner; the link to hand over.
export async function invite(page, account, email, role) {
  await page.goto(`${world.console}/${account}/account`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByRole("combobox", { name: "Role", exact: true }).selectOption(role);
  await page.getByRole("button", { name: "Invite" }).click();
  const handed = page.getByRole("region", { name: "Share this link" }).locator("code");
  return (await seen(handed)).innerText();
}

/// Takes an invitation up as somebody new, under the address that it names.
export async function join(page, link, email, password = PASSWORD) {
  await page.goto(link);
  assert.equal(await page.getByLabel("E-mail address").inputValue(), email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await seen(page.getByRole("status").filter({ hasText: "You belong to this account" }));
}

/// The first account, which belongs to nobody but the operator.
export async function firstAccount() {
  const accounts = await command("account list");
  assert.equal(accounts.length, 1);
  return accounts[0].id;
}
