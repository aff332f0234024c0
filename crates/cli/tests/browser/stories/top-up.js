// Credits are ordered, paid at the provider, and appear on a page without a reload.
import { assert, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { pay, world } from "../lib/world.js";

const CHECKOUT = "https://checkout.stripe.com/";

export default async function play() {
  const allows = (trouble) => trouble.startsWith(`elsewhere: ${CHECKOUT}`) || trouble.includes("422");
  const { context, page, troubles } = await operator({ allows });
  const account = await firstAccount();
  await context.route(`${CHECKOUT}**`, checkout);

  await page.goto(`${world.console}/${account}/credits`);
  await seen(page.getByText("live", { exact: true }));
  const balance = page.locator("#balance");
  await seen(balance.getByText(/100\.00/).first());
  await page.evaluate(() => { window.isSame = true; });

  const ordering = await context.newPage();
  await ordering.goto(`${world.console}/${account}/credits`);
  await ordering.getByLabel("Credits").fill("nothing");
  await ordering.getByRole("button", { name: "Order credits" }).click();
  await seen(ordering.getByRole("alert").filter({ hasText: "must be a number" }));
  await ordering.getByLabel("Credits").fill("12.50");
  await ordering.getByRole("button", { name: "Order credits" }).click();
  const onward = ordering.getByRole("link", { name: "Go on to payment" });
  assert.ok((await onward.getAttribute("href")).startsWith(CHECKOUT));
  await onward.click();
  await ordering.getByRole("button", { name: "Pay" }).click();
  await seen(ordering.getByRole("heading", { name: "Paid" }));

  await seen(balance.getByText(/112\.50/).first());
  await seen(page.getByRole("region", { name: "Ledger" }).getByRole("row").filter({ hasText: /top_up.*12\.50/ }));
  await seen(page.getByRole("region", { name: "Orders" }).getByText("paid", { exact: true }));
  assert.equal(await page.evaluate(() => window.isSame), true, "the page was not loaded again");
  assert.deepEqual(troubles, []);
}

/// The provider's page: one button, which pays.
async function checkout(route) {
  const request = route.request();
  const session = new URL(request.url()).pathname.split("/").at(-1);
  const isPaid = request.method() === "POST";
  if (isPaid) await pay(session);
  const body = isPaid ? "<h1>Paid</h1>" : `<form method="post"><button>Pay</button></form>`;
  await route.fulfill({ contentType: "text/html", body: `<!doctype html><title>Checkout</title>${body}` });
}
