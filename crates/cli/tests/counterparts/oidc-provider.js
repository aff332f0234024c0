// Sign-in through panva's oidc-provider, with one case of its configuration: node oidc-provider.js CASE

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

import { Browser, forms } from './browser.js';
import { check, serviceFor, signIn, wayBack } from './service.js';

const CASES = {
  plain: { idToken: 'RS256', secretGoes: 'client_secret_basic', keyNames: ['one', 'two'] },
  signed: { idToken: 'PS256', userInfo: 'ES256', secretGoes: 'client_secret_post', keyNames: ['one', 'one'] },
  rs256: { idToken: 'RS256', userInfo: 'RS256', secretGoes: 'client_secret_basic', keyNames: ['one', 'two'] },
  ed25519: { idToken: 'Ed25519', userInfo: 'Ed25519', secretGoes: 'client_secret_basic', keyNames: ['one', 'one'] },
  eddsa: { idToken: 'EdDSA', userInfo: 'EdDSA', secretGoes: 'client_secret_post', keyNames: ['one', 'two'] },
  // People as Microsoft Entra ID describes them: in the ID token, and without `email_verified`.
  edov: { idToken: 'RS256', secretGoes: 'client_secret_basic', keyNames: ['one', 'two'], isLikeEntra: true },
};
const settings = CASES[process.argv[2]];

const server = createServer((request, response) => handler(request, response)).listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;
const service = await serviceFor(issuer);

let handler;
provide(settings.keyNames[0]);

/** A provider with new keys of this name. */
function provide(keyName) {
  const clients = [{
    client_id: 'overnight',
    client_secret: service.secret,
    redirect_uris: [service.redirectUri],
    token_endpoint_auth_method: settings.secretGoes,
    id_token_signed_response_alg: settings.idToken,
    ...(settings.userInfo && { userinfo_signed_response_alg: settings.userInfo }),
  }];
  const emailClaims = settings.isLikeEntra ? ['email', 'xms_edov'] : ['email', 'email_verified'];
  const provider = new Provider(issuer, {
    clients,
    jwks: { keys: keys(keyName) },
    cookies: { keys: ['a key of cookies'] },
    claims: { openid: ['sub'], email: emailClaims },
    conformIdTokenClaims: !settings.isLikeEntra,
    features: { userinfo: { enabled: true }, jwtUserinfo: { enabled: true } },
    findAccount: (context, id) => ({ accountId: id, claims: () => ({ sub: id, ...PEOPLE[id] }) }),
  });
  handler = provider.callback();
}

function keys(name) {
  const kinds = [['rsa', { modulusLength: 2048 }], ['ec', { namedCurve: 'P-256' }], ['ed25519', {}]];
  return kinds.map(([kind, options]) => {
    const key = generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' });
    return { ...key, kid: `${kind}-${name}`, use: 'sig' };
  });
}

const PEOPLE = {
  'subject-a': { email: 'a@example.com', email_verified: true, xms_edov: '1' },
  'subject-b': { email: 'b@example.com', email_verified: false, xms_edov: false },
  'linked-by-hand': {},
};

/** Fills the provider's forms as somebody whom it knows. */
const as = (subject) => (page, url) => {
  const [form] = url.startsWith(issuer) ? forms(page) : [];
  return form && { url: form.url, fields: { ...form.fields, login: subject, password: 'any' } };
};

check(await signIn(service, as('subject-a')), 200, 'a@example.com');
check(await signIn(service, as('linked-by-hand')), 200, 'hand@example.com');
check(await signIn(service, as('subject-b')), 403, 'is not verified');

const tabs = new Browser();
const [one, other] = [await wayBack(service, as('subject-a'), tabs), await wayBack(service, as('subject-a'), tabs)];
check(await tabs.walk(one), 200, 'a@example.com');
check(await tabs.walk(other), 200, 'a@example.com');

for (const name of [null, 'https://id.example.com']) {
  const browser = new Browser();
  const back = new URL(await wayBack(service, as('subject-a'), browser));
  if (back.searchParams.get('iss') !== issuer) throw new Error(`the provider does not name itself: ${back}`);
  if (name) back.searchParams.set('iss', name);
  else back.searchParams.delete('iss');
  check(await browser.walk(back.href), 403, 'That did not work');
}

const unwilling = (page, url) => {
  const abort = url.startsWith(issuer) && /href="([^"]*\/abort)"/.exec(page)?.[1];
  return abort && { url: abort };
};
check(await signIn(service, unwilling), 403, 'access_denied: End-User aborted interaction');

provide(settings.keyNames[1]);
check(await signIn(service, as('subject-a')), 200, 'a@example.com');

const browser = new Browser();
const back = await wayBack(service, as('subject-a'), browser);
handler = (request, response) => response.writeHead(503).end('<h1>Service Unavailable</h1>');
check(await browser.walk(back), 503, 'does not answer');
process.exit(0);
