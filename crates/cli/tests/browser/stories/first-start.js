// The link of the first start works once; afterwards the chosen password works.
import { somebody } from "../lib/browser.js";
import { absent, assert, seen } from "../lib/checks.js";
import { byLink, byPassword, choose, isIn } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

export default async function play() {
  const { page, troubles } = await somebody({ allows: (trouble) => /40[34]|status of 403/.test(trouble) });
  await page.goto(world.signInUrl);
  await seen(page.getByText("as the operator of this service"));
  await byLink(page, world.signInUrl);
  assert.equal(new URL(page.url()).pathname, "/console/you");
  await seen(page.getByRole("status").filter({ hasText: "You are signed in" }));

  await choose(page, "ada@example.com");
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.waitForURL("**/console/sign-in");
  await page.goto(`${world.console}/you`);
  await seen(page.getByRole("heading", { name: "Sign in" }));

  // The requested page opens.
  await page.getByLabel("E-mail address").fill("ada@example.com");
  await page.getByLabel("Password").fill("quiet rivers carry lanterns");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/console/you");
  await absent(page.getByRole("alert"));
  await seen(page.getByText("(this one)"));

  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await page.waitForURL("**/console/sign-in");
  await page.goto(world.signInUrl);
  await seen(page.getByRole("heading", { name: "This link does not work" }));
  await byPassword(page, "ada@example.com", "not the password");
  await seen(page.getByRole("alert").filter({ hasText: "is wrong" }));
  await byPassword(page, "ada@example.com");
  await isIn(page);
  assert.deepEqual(troubles, []);
}
