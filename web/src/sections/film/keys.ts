/** Keys of the film: arrows go through the stills, the space bar plays, digits answer or choose a chapter. */

export type Action = 'next' | 'back' | 'play' | { readonly digit: string };

const TYPING = 'input:not([type="checkbox"]), textarea, select';
const PRESSED = `${TYPING}, button, a, summary, [type="checkbox"]`;

/** What a key press asks of the film; null where it is not the film's. `characters`: digits and the space bar count. */
export function actionOf(event: KeyboardEvent, characters: boolean): Action | null {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return null;
  const on = event.composedPath()[0];
  const within = (selector: string) => on instanceof Element && on.closest(selector) !== null;
  if (within(TYPING)) return null;
  if (event.key === 'ArrowRight') return 'next';
  if (event.key === 'ArrowLeft') return 'back';
  if (!characters) return null;
  if (event.key === ' ') return within(PRESSED) ? null : 'play';
  return /^\d$/.test(event.key) ? { digit: event.key } : null;
}
