import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

/** The style sheets of the first screen, in the order in which they apply. */
const FIRST_STYLES = [/^assets\/common-[^/]*\.css$/, /^assets\/index-[^/]*\.css$/, /^assets\/studio-page-[^/]*\.css$/];

/**
 * Makes the style sheets of the first screen one file: each request costs more than the few rules that another page does not need. What
 * names one of them, in `index.html` and in the lists of what a page loads, names the whole instead.
 */
export function mergeFirstStyles(): Plugin {
  return {
    name: 'merge-first-styles',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const parts = FIRST_STYLES.map((pattern) => {
          const name = Object.keys(bundle).find((each) => pattern.test(each));
          const file = name === undefined ? undefined : bundle[name];
          if (name === undefined || file?.type !== 'asset') throw new Error(`no style sheet ${pattern} was built`);
          return { name, source: String(file.source) };
        });
        const source = parts.map((part) => part.source).join('\n');
        const merged = `assets/first-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.css`;
        this.emitFile({ type: 'asset', fileName: merged, source });
        const rename = (text: string): string => parts.reduce((all, { name }) => all.replaceAll(name, merged), text);
        for (const { name } of parts) delete bundle[name];
        for (const file of Object.values(bundle)) {
          if (file.type === 'chunk') file.code = rename(file.code);
          else if (file.fileName.endsWith('.html')) file.source = linkOnce(rename(String(file.source)), merged);
        }
      },
    },
  };
}

/** Leaves one of several links to the same style sheet. */
function linkOnce(html: string, fileName: string): string {
  const links = new RegExp(`\\s*<link rel="stylesheet"[^>]*href="/${fileName}"[^>]*>`, 'g');
  let isFirst = true;
  return html.replace(links, (link) => {
    const kept = isFirst ? link : '';
    isFirst = false;
    return kept;
  });
}
