// Long work in slices, so that the page stays responsive. A new task of a name ends the earlier one.
// SPDX-License-Identifier: MIT

const runningTasks = new Map();

/** Lets the browser handle events; resolves in the next task without the delay of timers. */
function nextTurn() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

/**
 * Runs a generator in slices of `slice` milliseconds. Returns its result, or undefined if a later task of the same name
 * replaced it.
 */
export async function runTask(name, generator, slice = 10) {
  runningTasks.set(name, generator);
  for (;;) {
    const end = performance.now() + slice;
    do {
      const { value, done } = generator.next();
      if (done) {
        if (runningTasks.get(name) === generator) runningTasks.delete(name);
        return value;
      }
    } while (performance.now() < end);
    await nextTurn();
    if (runningTasks.get(name) !== generator) return undefined;
  }
}

export function isBusy(...names) {
  return names.some((name) => runningTasks.has(name));
}
