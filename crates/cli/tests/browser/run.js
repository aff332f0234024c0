// Plays one story: `node run.js NAME`. A Rust test starts it and sets the addresses in the environment.
import { closeBrowser, forgetPictures, picture } from "./lib/browser.js";
import { startWatchdog, stopWatchdog } from "./lib/watchdog.js";
import { close as closeWorld } from "./lib/world.js";

const name = process.argv[2];
const { default: play } = await import(`./stories/${name}.js`);
startWatchdog(fail);

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
stopWatchdog();
closeWorld();
