// Sign-in through the providers of emulate: node emulate-oidc.js SERVICE

import { once } from 'node:events';
import { createServer } from 'node:net';

import { createEmulator } from 'emulate';

import { forms } from './browser.js';
import { check, serviceFor, signIn } from './service.js';

const EMAIL = 'a@example.com';
const OTHER = 'b@elsewhere.example';
const TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';
const PATHS = { microsoft: `/${TENANT}/v2.0`, okta: '/oauth2/default', google: '' };

const name = process.argv[2];
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
const baseUrl = `http://127.0.0.1:${port}`;
const service = await serviceFor(`${baseUrl}${PATHS[name]}`);
const client = { client_id: 'overnight', client_secret: service.secret, name: 'Overnight', redirect_uris: [service.redirectUri] };
const users = [EMAIL, OTHER].map((email) => ({ email, login: email, name: 'Somebody', first_name: 'Some', last_name: 'Body' }));
const seed = { [name]: { users, oauth_clients: [client] } };
const emulator = await createEmulator({ service: name, port, baseUrl, seed });

/** Presses the button of the provider's page that is for this user. */
const as = (email) => (page, url) => {
  const isHim = ({ fields }) => Object.values(fields).includes(email);
  return url.startsWith(baseUrl) ? forms(page).find(isHim) ?? byUser(page, email) : null;
};

/** The forms of some name a user by an identifier, beside the address. */
function byUser(page, email) {
  const form = page.split(/(?=<form\b)/i).find((part) => part.includes(email));
  return form && forms(form)[0];
}

check(await signIn(service, as(EMAIL)), 200, EMAIL);
// Microsoft does not verify addresses, so the operator vouches for a domain.
const isSilent = name === 'microsoft';
check(await signIn(service, as(OTHER)), 403, isSilent ? 'is not verified' : 'Nobody invited you');
await emulator.close();
process.exit(0);
