// The service, as described by the test that starts a story.

import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { Browser } from './browser.js';

/** Tells the test where the provider will be; where the service is, once the test has started it. */
export async function serviceFor(issuer) {
  console.log(JSON.stringify({ issuer }));
  const [line] = await once(createInterface({ input: process.stdin }), 'line');
  const { url, secret } = JSON.parse(line);
  return { url, secret, redirectUri: `${url}/console/sign-in/oidc/callback` };
}

/** Signs in by the provider in a browser of its own, or in this one; the page that it ends at. */
export function signIn(service, fill, browser = new Browser()) {
  return browser.walk(`${service.url}/console/sign-in/oidc?next=/console/you`, { fill });
}

/** The same up to the address by which the provider leads back. */
export async function wayBack(service, fill, browser) {
  const options = { fill, stop: service.redirectUri };
  return (await browser.walk(`${service.url}/console/sign-in/oidc?next=/console/you`, options)).url;
}

/** Checks what a page says. */
export function check(page, status, words) {
  if (page.status !== status || !page.text.includes(words)) {
    throw new Error(`expected ${status} and ${JSON.stringify(words)} at ${page.url}: ${page.status}\n${page.text}`);
  }
}
