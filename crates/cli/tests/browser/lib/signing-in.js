// Ways to sign in to the console.
import { assert, seen } from "./checks.js";
import { somebody } from "./browser.js";
import { command, world } from "./world.js";

export const PASSWORD = "quiet rivers carry lanterns";

/// Signs in through a one-time link.
export async function byLink(page, link) {
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isIn(page);
}

export const isIn = (page) => page.waitForURL((url) => !url.pathname.includes("/sign-in"));

export async function byPassword(page, email, password = PASSWORD) {
  await page.goto(`${world.console}/sign-in`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/// The operator, signed in through the link of the first start.
export async function operator(options) {
  const one = await somebody(options);
  await byLink(one.page, world.signInUrl);
  return one;
}

/// Sets an e-mail address and a password.
export async function choose(page, email, password = PASSWORD) {
  await page.goto(`${world.console}/you`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel(/^(New p|P)assword/).fill(password);
  await page.getByRole("button", { name: "Save" }).click();
  await seen(page.getByRole("status").filter({ hasText: "It is changed" }));
}

/// Invites a person to an account as its owner; returns the link.
export async function invite(page, account, email, role) {
  await page.goto(`${world.console}/${account}/account`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByRole("combobox", { name: "Role", exact: true }).selectOption(role);
  await page.getByRole("button", { name: "Invite" }).click();
  const handed = page.getByRole("region", { name: "Share this link" }).locator("code");
  return (await seen(handed)).innerText();
}

/// Accepts an invitation as a new user with the address that it names.
export async function join(page, link, email, password = PASSWORD) {
  await page.goto(link);
  assert.equal(await page.getByLabel("E-mail address").inputValue(), email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await seen(page.getByRole("status").filter({ hasText: "You belong to this account" }));
}

/// The first account, which has no members.
export async function firstAccount() {
  const accounts = await command("account list");
  assert.equal(accounts.length, 1);
  return accounts[0].id;
}
