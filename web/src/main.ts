import { sheet } from './draw/colours';
import './shell/page';
import { store } from './state/store';

const look = new CSSStyleSheet();
look.replaceSync(
  `${sheet}
  :root{color-scheme:light dark;--desk:light-dark(#f3f1ea,#0f1217);--edge:light-dark(#8a8f98,#767e8b);background:var(--desk)}
  :root[data-theme=light]{color-scheme:light}
  :root[data-theme=dark]{color-scheme:dark}
  body{margin:0;-webkit-text-size-adjust:100%}`,
);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, look];
store.attach(window);
// a notebook around the page keeps its address
store.subscribe(() => window.dispatchEvent(new Event('gemmlab-state')));
