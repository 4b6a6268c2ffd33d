/** Colours by role, the ones of gemmlab's reports, on light and on dark paper. */

import palette from '../data/palette.json';

export type Role = keyof typeof palette;

/** A role's colour for stylesheets and SVG: `fill="${ink('teal')}"`. */
export const ink = (role: Role): string => `var(--${role})`;

/** The sheet that defines the roles; `data-theme` on the root decides where the device does not. */
export const sheet = `:root{${Object.entries(palette)
  .map(([role, [light, dark]]) => `--${role}:light-dark(${light},${dark})`)
  .join(';')}}`;

/** A role's colour as a canvas needs it: the one that holds now. */
export function solid(role: Role): string {
  return palette[role][dark() ? 1 : 0]!;
}

/** Whether the page is drawn on dark paper now. */
export function dark(): boolean {
  const theme = document.documentElement.dataset['theme'];
  return theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
}
