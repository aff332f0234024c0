// Fails a story that hangs, so that its position is reported. Stories with many pages reset it at each page, because they take minutes on a
// busy machine.
const LIMIT_MS = 170_000;

let timer = null;

/// Calls `onTimeout` with an error once the limit has passed since the start or the last reset.
export function startWatchdog(onTimeout) {
  timer = setTimeout(() => onTimeout(new Error(`nothing happened for ${LIMIT_MS / 1000} s`)), LIMIT_MS);
}

export const resetWatchdog = () => timer.refresh();

export const stopWatchdog = () => clearTimeout(timer);
