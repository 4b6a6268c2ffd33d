/**
 * The page in a notebook: one file that anywidget loads, with the whole page in it.
 *
 * The page stands in a frame of its own, so that several of them in one notebook have a state each, and neither look
 * nor names reach the notebook. Its address is the trait `hash`, both ways.
 */

import page from 'virtual:page';

interface Model {
  get(name: 'hash'): string;
  get(name: 'height'): number;
  set(name: 'hash', value: string): void;
  save_changes(): void;
  on(event: string, done: () => void): void;
  off(event: string, done: () => void): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const address = URL.createObjectURL(new Blob([page], { type: 'text/html' }));
  const frame = document.createElement('iframe');
  frame.title = 'gemmlab lab';
  Object.assign(frame.style, { width: '100%', border: '0', display: 'block', resize: 'vertical' });

  const tall = () => void (frame.style.height = `${model.get('height')}px`);
  const inside = () => frame.contentWindow?.location;
  const told = () => {
    const hash = inside()?.hash ?? '';
    if (hash === '' || hash === model.get('hash')) return;
    model.set('hash', hash);
    model.save_changes();
  };
  const asked = () => {
    const at = inside();
    if (at && at.hash !== model.get('hash')) at.hash = model.get('hash');
  };

  tall();
  frame.addEventListener('load', () => frame.contentWindow?.addEventListener('gemmlab-state', told));
  frame.src = address + model.get('hash');
  el.append(frame);
  model.on('change:hash', asked);
  model.on('change:height', tall);
  return () => {
    model.off('change:hash', asked);
    model.off('change:height', tall);
    frame.remove();
    URL.revokeObjectURL(address);
  };
}

export default { render };
