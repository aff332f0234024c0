// A browser without a screen: it keeps cookies for each host, follows redirects and sends forms.

export class Browser {
  #cookies = new Map();

  /** Goes to an address, and on from there: where `fill` finds a form on a page, that is sent. Stops at a page without one, or
   *  before an address that begins with `stop`. */
  async walk(url, { fill = () => null, stop } = {}) {
    let request = { url };
    for (let step = 0; step < 20; step += 1) {
      if (stop && request.url.startsWith(stop)) return { url: request.url };
      const response = await this.#send(request);
      const location = response.headers.get('location');
      const text = await response.text();
      if (location) {
        request = { url: new URL(location, request.url).href };
        continue;
      }
      const next = fill(text, request.url);
      if (!next) return { status: response.status, url: request.url, text };
      request = { ...next, url: new URL(next.url, request.url).href };
    }
    throw new Error(`this leads nowhere: ${request.url}`);
  }

  async #send({ url, fields }) {
    const { host } = new URL(url);
    const cookies = this.#cookies.get(host) ?? new Map();
    this.#cookies.set(host, cookies);
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
    const body = fields && new URLSearchParams(fields);
    const response = await fetch(url, { method: body ? 'POST' : 'GET', headers, body, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair, ...attributes] = line.split(';').map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf('='));
      const ends = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice('expires='.length);
      const isGone = attributes.some((it) => /^max-age=0$/i.test(it)) || (ends && Date.parse(ends) < Date.now());
      if (isGone) cookies.delete(name);
      else cookies.set(name, pair.slice(pair.indexOf('=') + 1));
    }
    return response;
  }
}

/** The forms of a page: where each is sent, and the fields that it has already. */
export function forms(page) {
  const attribute = (tag, name) => unescaped(new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(tag)?.[1] ?? '');
  return [...page.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/gi)].map(([form]) => {
    const inputs = [...form.matchAll(/<input\b[^>]*>/gi)].map(([input]) => input);
    const fields = inputs.map((input) => [attribute(input, 'name'), attribute(input, 'value')]);
    return { url: attribute(/<form\b[^>]*>/i.exec(form)[0], 'action'), fields: Object.fromEntries(fields) };
  });
}

function unescaped(text) {
  const named = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'", '#x2F': '/' };
  return text.replace(/&(#?\w+);/g, (whole, name) => named[name] ?? whole);
}
