/** Motion: what a step adds comes in from where it was. */

const LENGTH = 700;

/** Bring in what the step added; nothing moves where the reader asked for less motion. */
export function bringIn(picture: ParentNode, step: number): void {
  for (const part of picture.querySelectorAll<SVGGElement>(`[data-at="${step}"]`)) {
    const { dx = '0', dy = '0', wait = '0' } = part.dataset;
    part.animate(
      [
        { opacity: 0, transform: `translate(${dx}px, ${dy}px)` },
        { opacity: 1, transform: 'translate(0px, 0px)' },
      ],
      { duration: LENGTH, delay: Number(wait), easing: 'cubic-bezier(0.2, 0.7, 0.3, 1)', fill: 'backwards' },
    );
  }
}

/** Milliseconds that a caption stays while the film plays: time to read it, and to look. */
export const readingTime = (words: string): number => 2500 + 55 * words.length;
