// Fails a story that hangs, so that it says where. What has many pages resets it at each: on a busy machine they take minutes in all.
const LIMIT_MS = 170_000;

let timer = null;

/// Calls `onTimeout` with an error once the limit has passed since the start or the last reset.
export function startWatchdog(onTimeout) {
  timer = setTimeout(() => onTimeout(new Error(`nothing happened for ${LIMIT_MS / 1000} s`)), LIMIT_MS);
}

export const resetWatchdog = () => timer.refresh();

export const stopWatchdog = () => clearTimeout(timer);
