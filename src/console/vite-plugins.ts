import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Plugin } from 'vite';
import { FONT_FILES } from '../design/tokens.ts';

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
          const level = /(vendor|common|index|first|later|studio-(page|shared))-/.test(fileName) ? 11 : 9;
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

/** Emits the bundled font at the URLs named by the design tokens; the server's own pages load it from there too. */
export function emitFont(): Plugin {
  return {
    name: 'emit-font',
    apply: 'build',
    generateBundle() {
      for (const { file, path } of FONT_FILES)
        this.emitFile({
          type: 'asset',
          fileName: path.slice(1),
          source: readFileSync(join(import.meta.dirname, '../design', file)),
        });
    },
  };
}

const LATER_STYLES = join(import.meta.dirname, 'later.css');

/**
 * Lets every source file that uses a component or class of `later.css` import that sheet, so that it is loaded before
 * the script runs, and not by the first screen, which uses none of them.
 */
export function addLaterStyles(): Plugin {
  const isStyledLater = findLaterStyleUses();
  return {
    name: 'add-later-styles',
    enforce: 'pre',
    transform: (code, id) =>
      id.endsWith('.tsx') && !id.includes('node_modules') && isStyledLater(code)
        ? `import ${JSON.stringify(LATER_STYLES)};${code}`
        : undefined,
  };
}

/** Components of the first screen without a style sheet of their own, and not built from components of `later.css`. */
export const UNSTYLED_COMPONENTS = ['Box', 'FileButton', 'InputBase', 'MantineProvider'];

/** Returns whether the source of a file uses a component or class that only `later.css` styles. */
export function findLaterStyleUses(): (code: string) => boolean {
  const read = (sheet: string): string => readFileSync(join(import.meta.dirname, sheet), 'utf8');
  const all = (text: string, pattern: RegExp): string[] => Array.from(text.matchAll(pattern), ([, part = '']) => part);
  const components = new Set([...all(read('mantine.css'), /styles\/([\w-]+)\.css/g), ...UNSTYLED_COMPONENTS]);
  const classesOf = (css: string) => new Set(all(css.replaceAll(/@import.*/g, ''), /\.([a-z][\w-]*)/g));
  const classes = classesOf(read('later.css')).difference(classesOf(read('style.css')));
  const wordsOf = (code: string, pattern: RegExp): string[] =>
    all(code, pattern).flatMap((text) => text.match(/[\w-]+/g) ?? []);
  return (code) =>
    wordsOf(code.replaceAll(/\btype \w+/g, ''), /^import \{([^}]*)\} from '@mantine\/core'/gm).some(
      (name) => /^[A-Z]/.test(name) && !components.has(name),
    ) || wordsOf(code, /className=("[^"]*"|\{[^}]*\})/g).some((name) => classes.has(name));
}

/**
 * Properties of an endpoint the console needs to call it with the right credential, and for the organization that it acts
 * for (`Transport`); spread elements may contain them and are kept.
 */
const KEPT_PROPERTIES: ReadonlySet<string> = new Set(['method', 'path', 'policy', 'organization']);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

/**
 * Removes schemas, and the summaries and examples of endpoints, which only the server, the API reference and the type
 * checker use. What remains has no side effects, so that the bundler drops endpoints the console never calls.
 */
export function shortenEndpoints(): Plugin {
  return {
    name: 'shorten-endpoints',
    apply: 'build',
    transform(code, id) {
      if (!/[\\/]src[\\/]contract[\\/][\w-]+\.ts$/.test(id)) return undefined;
      const program = this.parse(code) as unknown as Node;
      const cuts = findEndpoints(program).flatMap(({ value, object }) => [
        // `endpoint` only checks types. The bundler keeps an unused object with a spread, but not a pure call.
        { start: value.start, end: object.start, text: '/* @__PURE__ */ (() => (' },
        ...propertiesOf(object).flatMap((property) => {
          const name = nameOf(property);
          if (property.type !== 'Property' || (name !== undefined && KEPT_PROPERTIES.has(name))) return [];
          const comma = /^\s*,/.exec(code.slice(property.end))?.[0].length ?? 0;
          return [{ start: property.start, end: property.end + comma, text: '' }];
        }),
        { start: object.end, end: value.end, text: '))()' },
      ]);
      const isCut = (node: Node): boolean =>
        cuts.some(({ start, end }) => start < end && start <= node.start && node.end <= end);
      for (const schema of findSchemas(program))
        if (!isCut(schema)) cuts.push({ start: schema.start, end: schema.end, text: 'Type' });
      // Backwards, so that the offsets of the remaining nodes stay valid.
      return cuts
        .toSorted((one, other) => other.start - one.start)
        .reduce((short, { start, end, text }) => short.slice(0, start) + text + short.slice(end), code);
    },
  };
}

/** The outermost calls of TypeBox, such as `Type.Object({ … })`. */
function findSchemas(node: Node): Node[] {
  const callee = node.type === 'CallExpression' ? (node.callee as Node) : undefined;
  if (callee?.type === 'MemberExpression' && (callee.object as { readonly name?: string }).name === 'Type')
    return [node];
  return Object.values(node)
    .flat()
    .filter((part): part is Node => typeof (part as Partial<Node> | null)?.type === 'string')
    .flatMap(findSchemas);
}

const propertiesOf = (object: Node): readonly Node[] => object.properties as readonly Node[];

const nameOf = ({ key }: Node): string | undefined => (key as { readonly name?: string } | undefined)?.name;

/** The values `endpoint({ … })` of a module and their objects, and the objects that several of these share. */
function findEndpoints(program: Node): { readonly value: Node; readonly object: Node }[] {
  return (program.body as readonly Node[]).flatMap((statement) => {
    const declaration = (statement.declaration ?? statement) as Node;
    if (declaration.type !== 'VariableDeclaration') return [];
    return (declaration.declarations as readonly Node[]).flatMap(({ init }) => {
      const value = init as Node | null;
      if (value?.type === 'ObjectExpression')
        return propertiesOf(value).some((property) => nameOf(property) === 'envelope')
          ? [{ value, object: value }]
          : [];
      if (value?.type !== 'CallExpression' || (value.callee as { name?: string }).name !== 'endpoint') return [];
      const [object] = value.arguments as readonly Node[];
      return object?.type === 'ObjectExpression' ? [{ value, object }] : [];
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
        const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
        const find = (name: string) => {
          const found = chunks.find((chunk) => chunk.name === name);
          if (found === undefined) throw new Error(`no script ${name} was built`);
          return found;
        };
        const studio = find('studio-page');
        const loaded = chunks
          .filter(({ isEntry }) => isEntry)
          .flatMap(({ fileName, imports }) => [fileName, ...imports]);
        const studioScripts = [studio.fileName, ...studio.imports].filter((fileName) => !loaded.includes(fileName));
        const source = await bundleAlone({
          STUDIO_SCRIPTS: studioScripts.map((fileName) => `/${fileName}`),
          STUDIO_TEXTS: {
            en: `/${find('first-texts-en').fileName}`,
            'zh-cn': `/${find('first-texts-zh-cn').fileName}`,
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
