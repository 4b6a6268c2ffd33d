/** A canvas that is painted again when its size or the colours change; a painter works in CSS pixels. */

export type Painter = (pen: CanvasRenderingContext2D, width: number, height: number) => void;
interface Held {
  readonly height: (width: number) => number;
  readonly paint: Painter;
}

const held = new Map<HTMLCanvasElement, Held>();
let observer: ResizeObserver | null = null;

/** Paint on a canvas as wide as its place, now and whenever that changes, until it leaves the page. */
export function paintOn(canvas: Element | undefined, height: (width: number) => number, paint: Painter): void {
  if (!(canvas instanceof HTMLCanvasElement)) return;
  if (observer === null) {
    observer = new ResizeObserver((entries) => entries.forEach(({ target }) => resized(target as HTMLCanvasElement)));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => [...held.keys()].forEach(again));
  }
  if (!held.has(canvas)) observer.observe(canvas);
  held.set(canvas, { height, paint });
  again(canvas);
}

/** A canvas has another size; one that has left the page has none. */
function resized(canvas: HTMLCanvasElement): void {
  if (canvas.isConnected) return again(canvas);
  held.delete(canvas);
  observer?.unobserve(canvas);
}

function again(canvas: HTMLCanvasElement): void {
  const found = held.get(canvas);
  const width = canvas.clientWidth;
  if (!found || width === 0) return;
  const ratio = devicePixelRatio || 1;
  const height = found.height(width);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext('2d')!;
  pen.scale(ratio, ratio);
  found.paint(pen, width, height);
}
