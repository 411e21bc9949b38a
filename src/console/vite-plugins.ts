import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Plugin } from 'vite';
import { FONT_FILE, FONT_PATH } from '../design/tokens.ts';

/** Scripts of the first screen, loaded by every page. */
const FIRST_SCRIPTS = /(vendor|common|index|studio-(page|shared))-[^/]*\.js$/;

/** Writes a `.br` and a `.gz` next to every text file, so that the server compresses nothing at run time. */
export function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          if (!/\.(js|css|svg)$/.test(fileName)) continue;
          const source = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          if (source.length < 1024) continue;
          // Files loaded by every page justify the slowest compression level.
          const level = /(vendor|common|index|first|studio-(page|shared))-/.test(fileName) ? 11 : 9;
          const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: level } };
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotliCompressSync(source, quality) });
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
        }
      },
    },
  };
}

/**
 * Makes Chromium compile the whole script in the background while it arrives, instead of each function on its first
 * call on the main thread (V8 explicit compile hints). In other browsers it is a comment.
 */
const COMPILE_HINT = '//# allFunctionsCalledOnLoad\n';

/** Marks the scripts of the first screen, most of whose functions run before the first paint. */
export function compileAhead(): Plugin {
  return {
    name: 'compile-ahead',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        for (const file of Object.values(bundle))
          if (file.type === 'chunk' && FIRST_SCRIPTS.test(file.fileName)) file.code = COMPILE_HINT + file.code;
      },
    },
  };
}

/** Emits the bundled font at the URL named by the design tokens; the server's own pages load it from there too. */
export function emitFont(): Plugin {
  return {
    name: 'emit-font',
    apply: 'build',
    generateBundle() {
      const source = readFileSync(join(import.meta.dirname, '../design', FONT_FILE));
      this.emitFile({ type: 'asset', fileName: FONT_PATH.slice(1), source });
    },
  };
}

/**
 * Properties of an endpoint the console needs to call it with the right credential (`Transport`); spread elements may
 * contain them and are kept.
 */
const KEPT_PROPERTIES: ReadonlySet<string> = new Set(['method', 'path', 'policy']);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

/**
 * Removes summaries, schemas and examples of endpoints, which only the server, the API reference and the type checker
 * use.
 */
export function shortenEndpoints(): Plugin {
  return {
    name: 'shorten-endpoints',
    apply: 'build',
    transform(code, id) {
      if (!/[\\/]src[\\/]contract[\\/][\w-]+\.ts$/.test(id) || !code.includes('endpoint({')) return undefined;
      let short = code;
      // Backwards, so that the offsets of the remaining nodes stay valid.
      for (const { properties } of findEndpoints(this.parse(code) as unknown as Node).toReversed())
        for (const property of (properties as readonly Node[]).toReversed()) {
          const name = (property.key as { readonly name?: string } | undefined)?.name;
          if (property.type !== 'Property' || (name !== undefined && KEPT_PROPERTIES.has(name))) continue;
          const comma = /^\s*,/.exec(short.slice(property.end))?.[0].length ?? 0;
          short = short.slice(0, property.start) + short.slice(property.end + comma);
        }
      return short;
    },
  };
}

/** Arguments of the `export const … = endpoint({ … })` declarations in a module. */
function findEndpoints(program: Node): Node[] {
  return (program.body as readonly Node[]).flatMap((statement) => {
    const declaration = (statement.declaration ?? statement) as Node;
    if (declaration.type !== 'VariableDeclaration') return [];
    return (declaration.declarations as readonly Node[]).flatMap(({ init }) => {
      const call = init as Node | null;
      if (call?.type !== 'CallExpression' || (call.callee as { name?: string }).name !== 'endpoint') return [];
      const [argument] = call.arguments as readonly Node[];
      return argument?.type === 'ObjectExpression' ? [argument] : [];
    });
  });
}

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
