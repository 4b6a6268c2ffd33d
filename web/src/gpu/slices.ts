/** Long work in slices, so that the page answers in between. */

export const SLICE_MS = 12;
/** Steps of a slice, whatever the clock says: one that stands still must not hold up the page. */
const MOST_STEPS = 4096;

/** Lets the browser answer whatever waits. */
export function pause(): Promise<void> {
  return new Promise((resume) => {
    if (typeof MessageChannel === 'undefined') return setTimeout(resume, 0);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resume();
    };
    port2.postMessage(null);
    return undefined;
  });
}

/** Run a generator to its end, pausing after each slice; throws the signal's reason once it is aborted. */
export async function inSlices<T, R>(
  work: Generator<T, R>,
  signal?: AbortSignal,
  told?: (step: T) => void,
  sliceMs = SLICE_MS,
): Promise<R> {
  for (;;) {
    const end = performance.now() + sliceMs;
    let steps = 0;
    do {
      const step = work.next();
      if (step.done) return step.value;
      told?.(step.value);
    } while (++steps < MOST_STEPS && performance.now() < end);
    await pause();
    signal?.throwIfAborted();
  }
}
