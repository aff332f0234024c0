// A viewer looks, and changes nothing: neither by what the pages offer nor by what is sent past them.
import { somebody } from "../lib/browser.js";
import { absent, assert, seen } from "../lib/checks.js";
import { byLink, firstAccount, invite, operator } from "../lib/doors.js";
import { command, world } from "../lib/world.js";

export default async function play() {
  const { page } = await operator();
  const account = await firstAccount();
  const link = await invite(page, account, "vera@example.com", "viewer");
  await command(`key create --account ${account} --name theirs`);

  const viewer = await somebody({ allows: (trouble) => trouble.includes("403") });
  await byLink(viewer.page, link);
  await seen(viewer.page.getByRole("status").filter({ hasText: "You are signed in" }));
  await viewer.page.goto(`${world.console}/${account}/keys`);
  await seen(viewer.page.getByText("You look at this account as a viewer"));
  await seen(viewer.page.getByRole("row").filter({ hasText: "theirs" }));
  for (const name of ["Create key", "Revoke this key"]) await absent(viewer.page.getByRole("button", { name }));
  await absent(viewer.page.getByText("Revoke", { exact: true }));
  await absent(viewer.page.getByRole("link", { name: "Operator" }));

  const before = await state(account);
  for (const [path, fields] of forgeries(account, before.keys)) {
    const status = await viewer.page.evaluate(forge, [path, fields]);
    assert.equal(status, path.startsWith("/console/operator") ? 404 : 403, path);
  }
  assert.deepEqual(await state(account), before);

  await viewer.page.goto(`${world.console}/${account}/account`);
  for (const name of ["Change", "Add member"]) await absent(viewer.page.getByRole("button", { name }));
  await viewer.page.goto(`${world.console}/${account}/credits`);
  await absent(viewer.page.getByRole("button", { name: "Order credits" }));
  assert.deepEqual(viewer.troubles.filter((trouble) => !trouble.includes("404")), []);
}

const forgeries = (account, keys) => [
  [`/console/${account}/keys`, { name: "mine", expires: "never" }],
  ...keys.map((key) => [`/console/${account}/keys/${key.id}/revoke`, {}]),
  [`/console/${account}/account/members`, { email: "mallory@example.com", role: "owner" }],
  [`/console/${account}/credits/top-up`, { amount: "5" }],
  [`/console/operator/accounts/${account}/grant`, { amount: "5" }],
];

/// A form sent past the page, with the viewer's own cookie.
async function forge([path, fields]) {
  const sent = await fetch(path, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
  await sent.text();
  return sent.status;
}

async function state(account) {
  const keys = await command(`key list --account ${account}`);
  const shown = await command(`account show ${account}`);
  return { keys: keys.map(({ id, revoked_at }) => ({ id, revoked_at })), balance: shown.balance };
}
