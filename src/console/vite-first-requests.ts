import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build, type Plugin } from 'vite';

/**
 * Bundles `first-requests.ts` as one small file, because it must run before the shared scripts have loaded, and adds it
 * to the page.
 */
export function addFirstRequests(): Plugin {
  return {
    name: 'add-first-requests',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      async handler(_, bundle) {
        const find = (pattern: RegExp): string => {
          const name = Object.keys(bundle).find((each) => pattern.test(each));
          if (name === undefined) throw new Error(`no file ${pattern} was built`);
          return `/${name}`;
        };
        const source = await bundleAlone({
          STUDIO_SCRIPT: find(/^assets\/studio-page-[^/]*\.js$/),
          STUDIO_TEXTS: {
            en: find(/^assets\/first-texts-en-[^/]*\.js$/),
            'zh-cn': find(/^assets\/first-texts-zh-cn-[^/]*\.js$/),
          },
        });
        const fileName = `assets/first-requests-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.js`;
        this.emitFile({ type: 'asset', fileName, source });
        const page = bundle['index.html'];
        if (page?.type !== 'asset') throw new Error('no page was built');
        // Before the style sheets, which would delay a script after them.
        page.source = String(page.source).replace(
          '<link rel="icon"',
          `<script async fetchpriority="high" src="/${fileName}"></script>\n    $&`,
        );
      },
    },
  };
}

/** @param names constants to define: the names of the other files */
async function bundleAlone(names: Readonly<Record<string, unknown>>): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    define: Object.fromEntries(Object.entries(names).map(([name, value]) => [name, JSON.stringify(value)])),
    build: {
      write: false,
      target: 'es2023',
      rolldownOptions: { input: join(import.meta.dirname, 'first-requests.ts'), output: { format: 'iife' } },
    },
  });
  const [file] = Array.isArray(result) ? (result[0]?.output ?? []) : 'output' in result ? result.output : [];
  if (file?.type !== 'chunk') throw new Error('the first requests were not built');
  return file.code;
}
