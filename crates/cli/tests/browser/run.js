// Plays one story: `node run.js NAME`, started by a Rust test, which says in the environment where everything is.
import { closeBrowser, forgetPictures, picture } from "./lib/browser.js";
import { close as closeWorld } from "./lib/world.js";

const LONGEST_MS = 170_000;

const name = process.argv[2];
const { default: play } = await import(`./stories/${name}.js`);
const late = setTimeout(() => fail(new Error(`it took longer than ${LONGEST_MS / 1000} s`)), LONGEST_MS);

async function fail(error) {
  console.log(`the story "${name}" failed: ${error.stack}`);
  for (const shown of await picture(`failed-${name}`)) console.log(`  ${shown}`);
  process.exit(1);
}

forgetPictures(`failed-${name}`);
try {
  await play();
  await closeBrowser();
} catch (error) {
  await fail(error);
}
clearTimeout(late);
closeWorld();
