// Every page of the console: its name, path and heading. Visitors fill in names in braces, such as `{account}`; a page with an unknown name
// is skipped. A page that is not built yet is marked `soon`.
export const PAGES = [
  { name: "sign-in", path: "/sign-in", heading: "Sign in", isOutside: true },
  { name: "link", path: "/sign-in/link/{link}", heading: "Sign in to Overnight", isOutside: true },
  { name: "used-link", path: "/sign-in/link/used", heading: "This link does not work", isOutside: true, status: 403 },
  { name: "invitation", path: "/invitation/{invitation}", heading: "Join default" },
  { name: "nothing", path: "/{account}/nothing", heading: "There is nothing here", status: 404 },
  { name: "you", path: "/you", heading: "You" },
  { name: "overview", path: "/{account}", heading: "Overview" },
  { name: "overview-hour", path: "/{account}?hours=1", heading: "Overview" },
  { name: "overview-week", path: "/{account}?hours=168", heading: "Overview" },
  { name: "requests", path: "/{account}/requests", heading: "Requests" },
  { name: "requests-failed", path: "/{account}/requests?status=failed", heading: "Requests" },
  { name: "requests-batch", path: "/{account}/requests?batch={failedBatch}", heading: "Requests" },
  { name: "requests-failed-batch", path: "/{account}/requests?batch={failedBatch}&status=failed", heading: "Requests" },
  { name: "requests-large-batch", path: "/{account}/requests?batch={largeBatch}", heading: "Requests" },
  { name: "requests-none", path: "/{account}/requests?search=nowhere", heading: "Requests" },
  { name: "request", path: "/{account}/requests/{request}", heading: "Request" },
  { name: "request-failed", path: "/{account}/requests/{failedRequest}", heading: "Request" },
  { name: "request-waiting", path: "/{account}/requests/{liveRequest}", heading: "Request" },
  { name: "batches", path: "/{account}/batches", heading: "Batches" },
  { name: "batches-none", path: "/{account}/batches?search=nowhere", heading: "Batches" },
  { name: "batch", path: "/{account}/batches/{batch}", heading: /./ },
  { name: "batch-failures", path: "/{account}/batches/{failedBatch}", heading: "with failures" },
  { name: "batch-live", path: "/{account}/batches/{liveBatch}", heading: /^embeddings of the whole/ },
  { name: "batch-cancelled", path: "/{account}/batches/{cancelledBatch}", heading: "a mistake" },
  { name: "new", path: "/{account}/new", heading: "New batch" },
  { name: "playground", path: "/{account}/playground", heading: "Playground" },
  { name: "models", path: "/{account}/models", heading: "Models" },
  { name: "keys", path: "/{account}/keys", heading: "API keys" },
  { name: "credits", path: "/{account}/credits", heading: "Credits" },
  { name: "credits-grants", path: "/{account}/credits?kind=grant", heading: "Credits" },
  { name: "webhooks", path: "/{account}/webhooks", heading: "Webhooks" },
  { name: "webhook-event", path: "/{account}/webhooks/{event}", heading: /^(request|batch)\./ },
  { name: "account", path: "/{account}/account", heading: /./ },
  { name: "operator", path: "/operator", heading: "Operator" },
];

export const exists = (name) => PAGES.some((page) => page.name === name && !page.soon);

/// The pages that can be visited with these names, with their addresses.
export function addressed(names) {
  const fill = (path) => path.replace(/\{(\w+)\}/g, (braces, name) => names[name] ?? braces);
  const pages = PAGES.filter((page) => !page.soon).map((page) => ({ ...page, path: fill(page.path) }));
  return pages.filter((page) => !page.path.includes("{"));
}
