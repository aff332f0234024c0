// A CSV file fills a prompt for each row in the browser; a file that cannot be sent shows the reason, or the command that can send it.
import { absent, assert, nothing, seen } from "../lib/checks.js";
import { look } from "../lib/looks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { world } from "../lib/world.js";

const CSV = '\ufeffid,First name,body\r\na-1,Ada,"It said ""yes"",\nand twice"\r\n\r\nb-2,Grace,short\r\n';
const file = (name, text) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });

export default async function play() {
  const { page, troubles } = await operator();
  const home = `${world.console}/${await firstAccount()}`;
  await page.goto(`${home}/new`);
  const chosen = page.getByLabel("or a file: choose one, or drop it here");
  const wrong = page.getByRole("alert");
  await chosen.setInputFiles(file("broken.csv", "a,b\n1,2\n3\n"));
  await seen(wrong.filter({ hasText: "Line 3 has 1 cell, the first line has 2." }));
  await chosen.setInputFiles(file("open.csv", 'a,b\n1,"2\n'));
  await seen(wrong.filter({ hasText: "Line 2: a quote does not close." }));
  await page.getByRole("button", { name: "Check and price" }).click();
  await seen(wrong.filter({ hasText: "a quote does not close" }));

  await chosen.setInputFiles(file("people.parquet", "PAR1"));
  await seen(page.getByText(/^overnight submit people\.parquet --model m --prompt/));
  const prompt = page.getByLabel("Prompt of each row");
  await chosen.setInputFiles(file("odd.csv", 'x,"a ""b"" \\c"\n1,2\n'));
  await prompt.fill("Answer ");
  await seen(wrong.filter({ hasText: "The prompt names no column, so every row would be asked the same." }));
  await page.getByRole("button", { name: 'a "b" \\c' }).click();
  assert.equal(await prompt.inputValue(), 'Answer {{ row["a \\"b\\" \\\\c"] }}');
  await seen(page.getByText('"Answer 2"'));
  await chosen.setInputFiles(file("people.csv", CSV));
  await absent(page.getByText(/^overnight submit people\.parquet/).filter({ visible: true }));
  await seen(page.getByText("people.csv: 2 rows, 3 columns."));
  await prompt.fill("Hello {{ nobody }}");
  await seen(wrong.filter({ hasText: "There is no column “nobody”. The columns are: id, First name, body." }));
  await prompt.fill("{{ body | upper }}");
  await seen(wrong.filter({ hasText: "Only columns in double braces" }));
  await prompt.fill("Answer ");
  await page.getByRole("button", { name: "First name" }).click();
  assert.equal(await prompt.inputValue(), 'Answer {{ row["First name"] }}');
  await prompt.fill('Answer {{ row["First name"] }}: {{body}}');
  await seen(page.getByText('Answer Ada: It said \\"yes\\",\\nand twice'));
  nothing(await look(page, "new-table", "full"));

  await page.getByLabel("Name of the batch").fill("people");
  await page.getByRole("button", { name: "Check and price" }).click();
  await seen(page.getByRole("heading", { name: "2 requests can be sent" }));
  await page.getByRole("button", { name: "Send as a batch" }).click();
  await page.waitForURL(/\/batches\/batch_/);
  await seen(page.getByText("2 completed"));
  await page.getByRole("link", { name: "a-1" }).click();
  await seen(page.getByText('Answer Ada: It said "yes",'));
  await seen(page.getByRole("listitem").filter({ hasText: "Released to the queue" }));
  await seen(page.getByRole("listitem").filter({ hasText: "Completed at sim" }));
  assert.deepEqual(troubles, []);
}
