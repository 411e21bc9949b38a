import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { printWireType, type WireSchema } from './wire-types.ts';

/** A node of the syntax tree; the parser's own types have a separate interface for each of 200 kinds. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** Origin of a name in a file: an export of a contract module, or the module as a namespace. */
interface ContractName {
  readonly module: string;
  readonly name: string | undefined;
}

type Scope = ReadonlyMap<string, ContractName>;

/**
 * Writes the SDK's declarations as files without dependencies: types derived from the contract's schemas are expanded,
 * with the schemas' descriptions as comments.
 *
 * @throws Error if a declaration would still refer to the contract
 */
export async function writeSdkDeclarations(root: string, folder: string): Promise<void> {
  const emitted = mkdtempSync(join(tmpdir(), 'reelgate-declarations-'));
  try {
    emitDeclarations(root, emitted);
    const contract = new ContractTypes(root);
    for (const path of globSync('sdk/*.d.ts', { cwd: emitted })) {
      const text = readFileSync(join(emitted, path), 'utf8');
      writeFileSync(join(folder, basename(path)), await contract.resolveTypes(basename(path), text));
    }
  } finally {
    rmSync(emitted, { recursive: true });
  }
}

function emitDeclarations(root: string, folder: string): void {
  const options = ['--declaration', '--emitDeclarationOnly', '--stripInternal', '--rootDir', 'src', '--outDir', folder];
  const language = ['--target', 'esnext', '--module', 'nodenext', '--lib', 'esnext,dom,dom.iterable', '--types', ''];
  const checks = ['--strict', '--skipLibCheck', '--verbatimModuleSyntax', '--allowImportingTsExtensions'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, 'src/sdk/index.ts', '--ignoreConfig', ...options, ...language, ...checks];
  execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Types of the contract, evaluated from the values they are derived from: schemas, lists of names, tables. */
class ContractTypes {
  readonly #root: string;
  constructor(root: string) {
    this.#root = root;
  }

  async resolveTypes(path: string, text: string): Promise<string> {
    const body = parse(path, text);
    const scope = importedNames(body, FROM_SDK);
    const edits: { readonly start: number; readonly end: number; readonly text: string }[] = [];
    const visit = async (node: SyntaxNode): Promise<void> => {
      if (/^TS(?:TypeReference|IndexedAccessType|TypeOperator)$/.test(node.type)) {
        const schema = await this.#evaluate(node, scope);
        if (schema !== undefined) {
          const line = text.slice(text.lastIndexOf('\n', node.start) + 1, node.start);
          const indent = /^\s*/.exec(line)?.[0] ?? '';
          edits.push({ start: node.start, end: node.end, text: printWireType(schema, indent) });
          return;
        }
      }
      if (node.type === 'Identifier' && scope.has(String(node['name'])))
        throw new Error(`${path} would refer to ${node['name']} of the contract, which is not in the package`);
      for (const child of childrenOf(node)) await visit(child);
    };
    for (const statement of body) {
      if (statement.type === 'ImportDeclaration' && FROM_SDK.test(sourceOf(statement)))
        edits.push({ start: statement.start, end: statement.end + 1, text: '' });
      else await visit(statement);
    }
    let resolved = text;
    for (const edit of edits.sort((a, b) => b.start - a.start))
      resolved = resolved.slice(0, edit.start) + edit.text + resolved.slice(edit.end);
    return resolved.replace(/(from ['"]\.\/[\w-]+)\.ts(['"])/g, '$1.js$2');
  }

  /** The schema of a type; undefined for types not derived from the contract. */
  async #evaluate(node: SyntaxNode, scope: Scope): Promise<WireSchema | undefined> {
    if (node.type === 'TSParenthesizedType') return this.#evaluate(at(node, 'typeAnnotation'), scope);
    if (node.type === 'TSTypeOperator') {
      const table = node['operator'] === 'keyof' ? await this.#valueOf(at(node, 'typeAnnotation'), scope) : undefined;
      return table === undefined ? undefined : { enum: Object.keys(table) };
    }
    if (node.type === 'TSIndexedAccessType') return this.#evaluateIndex(node, scope);
    if (node.type !== 'TSTypeReference') return undefined;
    const [first, second] = ((node['typeArguments'] as SyntaxNode | null)?.['params'] ?? []) as SyntaxNode[];
    const name = qualifiedName(at(node, 'typeName'));
    if (name === 'EndpointPart' && first !== undefined && second !== undefined) {
      const endpoint = (await this.#valueOf(first, scope)) as Record<string, WireSchema> | undefined;
      return endpoint?.[literalOf(second)];
    }
    if (name === 'Static' && first !== undefined) return (await this.#valueOf(first, scope)) as WireSchema | undefined;
    if (name === 'Omit' && first !== undefined && second !== undefined) {
      const whole = await this.#evaluate(first, scope);
      if (whole === undefined) return undefined;
      const { [literalOf(second)]: _, ...properties } = whole.properties ?? {};
      return { ...whole, properties };
    }
    return this.#evaluateAlias(name, scope);
  }

  async #evaluateIndex(node: SyntaxNode, scope: Scope): Promise<WireSchema | undefined> {
    const object = at(node, 'objectType');
    const index = at(node, 'indexType');
    const names = await this.#valueOf(object, scope);
    if (Array.isArray(names)) return { enum: names };
    const schema = await this.#evaluate(object, scope);
    if (schema === undefined) return undefined;
    const found = index.type === 'TSNumberKeyword' ? schema.items : schema.properties?.[literalOf(index)];
    if (found === undefined) throw new Error(`a schema of the contract has no ${literalOf(index) || 'items'}`);
    return found;
  }

  /** Evaluates a type declared by the contract: `type TicketStatus = (typeof TICKET_STATUS)[number]`. */
  async #evaluateAlias(name: string, scope: Scope): Promise<WireSchema | undefined> {
    const found = lookUp(name, scope);
    if (found === undefined) return undefined;
    const path = join(this.#root, 'src/contract', found.module);
    const body = parse(path, readFileSync(path, 'utf8'));
    const declared = body
      .map((statement) => (statement['declaration'] ?? statement) as SyntaxNode)
      .find(({ type, id }) => type === 'TSTypeAliasDeclaration' && (id as SyntaxNode)['name'] === found.name);
    if (declared === undefined) return undefined;
    const own = new Map(importedNames(body, FROM_CONTRACT));
    for (const local of Object.keys(await this.#load(found.module)))
      own.set(local, { module: found.module, name: local });
    return this.#evaluate(at(declared, 'typeAnnotation'), own);
  }

  async #valueOf(node: SyntaxNode, scope: Scope): Promise<object | undefined> {
    if (node.type === 'TSParenthesizedType') return this.#valueOf(at(node, 'typeAnnotation'), scope);
    if (node.type !== 'TSTypeQuery') return undefined;
    const found = lookUp(qualifiedName(at(node, 'exprName')), scope);
    return found === undefined ? undefined : (await this.#load(found.module))[found.name];
  }

  async #load(module: string): Promise<Record<string, object>> {
    return (await import(join(this.#root, 'src/contract', module))) as Record<string, object>;
  }
}

const parse = (path: string, text: string): readonly SyntaxNode[] =>
  parseSync(path, text).program.body as unknown as readonly SyntaxNode[];

const at = (node: SyntaxNode, member: string): SyntaxNode => node[member] as SyntaxNode;

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';

const childrenOf = (node: SyntaxNode): SyntaxNode[] => Object.values(node).flat().filter(isNode);

const sourceOf = (statement: SyntaxNode): string => String(at(statement, 'source')['value']);

/** Modules whose names are resolved: the contract as imported by the SDK and by its own files. */
const FROM_SDK = /^(?:typebox|\.\.\/contract\/[\w-]+\.ts)$/;
const FROM_CONTRACT = /^(?:typebox|\.\/[\w-]+\.ts)$/;

/** Names that a file imports from such modules. */
function importedNames(body: readonly SyntaxNode[], modules: RegExp): Scope {
  const names = new Map<string, ContractName>();
  for (const statement of body) {
    if (statement.type !== 'ImportDeclaration' || !modules.test(sourceOf(statement))) continue;
    for (const specifier of statement['specifiers'] as SyntaxNode[]) {
      const imported = specifier['imported'] as SyntaxNode | undefined;
      const name = imported === undefined ? undefined : String(imported['name']);
      names.set(String(at(specifier, 'local')['name']), { module: basename(sourceOf(statement)), name });
    }
  }
  return names;
}

const qualifiedName = (node: SyntaxNode): string =>
  node.type === 'TSQualifiedName'
    ? `${qualifiedName(at(node, 'left'))}.${at(node, 'right')['name']}`
    : String(node['name']);

function lookUp(name: string, scope: Scope): { readonly module: string; readonly name: string } | undefined {
  const [first = '', member] = name.split('.');
  const found = scope.get(first);
  if (found === undefined || found.module === 'typebox') return undefined;
  const exported = found.name ?? member;
  return exported === undefined ? undefined : { module: found.module, name: exported };
}

const literalOf = (node: SyntaxNode): string =>
  node.type === 'TSLiteralType' ? String(at(node, 'literal')['value']) : '';
