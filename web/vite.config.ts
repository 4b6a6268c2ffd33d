/// <reference types="vitest/config" />
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const target = process.env['GEMMLAB_STATIC'] ?? fileURLToPath(new URL('../src/gemmlab/lab/static', import.meta.url));

/** What the page in one file may load: its own script and nothing else. */
const ALONE =
  "default-src 'none'; script-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; object-src 'none'; base-uri 'none'";

/** Fold the one script into the page: an inline module needs no server, where one in a file of its own does. */
function oneFile(): Plugin {
  return {
    name: 'one-file',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir }, bundle) {
      if (dir === undefined) return;
      const scripts = Object.values(bundle).filter((part) => part.type === 'chunk');
      if (scripts.length !== 1) throw new Error(`one file needs one script, not ${scripts.length}`);
      const page = readFileSync(`${dir}/index.html`, 'utf8');
      const [script] = scripts;
      const code = script!.code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
      const alone = page.replace(/content="default-src 'self'[^"]*"/, () => `content="${ALONE}"`);
      const whole = alone.replace(
        /<script[^>]*src="[^"]*"[^>]*><\/script>/,
        () => `<script type="module">${code}</script>`,
      );
      if (alone === page || whole === alone || /(src|href)="\.\//.test(whole))
        throw new Error('the page still asks for another file');
      writeFileSync(`${target}/gemmlab-lab.html`, whole);
      rmSync(dir, { recursive: true });
    },
  };
}

/** What `virtual:page` of the notebook's file is: the page in one file, so that is built before. */
function pageInside(): Plugin {
  return {
    name: 'page-inside',
    resolveId: (id) => (id === 'virtual:page' ? `\0${id}` : null),
    load: (id) =>
      id === '\0virtual:page'
        ? `export default ${JSON.stringify(readFileSync(`${target}/gemmlab-lab.html`, 'utf8'))}`
        : null,
  };
}

const notebook: UserConfig = {
  plugins: [pageInside()],
  build: {
    target: 'es2022',
    outDir: target,
    emptyOutDir: false,
    lib: { entry: 'src/widget.ts', formats: ['es'], fileName: () => 'gemmlab-widget.js' },
    reportCompressedSize: false,
  },
};

const page = (mode: string): UserConfig => ({
  base: './',
  plugins: mode === 'single' ? [oneFile()] : [],
  build: {
    target: 'es2022',
    outDir: mode === 'single' ? `${target}/single` : target,
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: mode === 'single' ? 1 << 30 : 0,
    rolldownOptions: mode === 'single' ? { output: { codeSplitting: false } } : {},
    reportCompressedSize: false,
    // the page in one file is one chunk
    chunkSizeWarningLimit: mode === 'single' ? 2000 : 500,
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});

export default defineConfig(({ mode }) => (mode === 'widget' ? notebook : page(mode)));
