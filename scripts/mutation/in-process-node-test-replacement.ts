/**
 * Stands in for `node:test` in the worker. node's runner runs a file once for each process; this one runs chosen tests of a
 * loaded file again and again: the callback of a `describe` is called anew each time, so what it declares is fresh.
 * Has what this project's tests use. Tests of one file run one after the other.
 */
import { reachedAtLoad, recordInto } from './activate-mutant-and-record-reached.ts';

type Body = (context: TestContext) => unknown;
interface Options {
  readonly skip?: boolean | string;
}
const HOOKS = ['before', 'after', 'beforeEach', 'afterEach'] as const;
type HookName = (typeof HOOKS)[number];

interface Declared {
  readonly kind: 'suite' | 'test';
  readonly name: string;
  readonly body: Body;
}
interface Suite {
  readonly id: string;
  readonly declared: Declared[];
  readonly hooks: Record<HookName, Body[]>;
  /** Mutants reached by its hooks and by what surrounds it: all its tests depend on them. */
  readonly reached: Set<number>;
  hookMs: number;
}

export interface TestContext {
  readonly name: string;
  readonly signal: AbortSignal;
  after(body: () => unknown): void;
  diagnostic(message: string): void;
}

/** A test that was run. */
export interface TestRecord {
  readonly id: string;
  readonly name: string;
  readonly durationMs: number;
  /** What the hooks of its suites took. */
  readonly hookMs: number;
  readonly reached: readonly number[];
  readonly failure?: string;
}

/** What to run of a file. */
export interface RunRequest {
  /** All when left out. */
  readonly tests?: readonly string[];
  /** Stops at the first failure and records no coverage. */
  readonly isTrial: boolean;
  /** Limit of a test in ms; a test that is stopped by it leaves the process in an unknown state. */
  limitOf(testId: string): number;
}

export interface RunResult {
  readonly records: TestRecord[];
  readonly failure?: { readonly id: string; readonly message: string; readonly isTimeout: boolean };
}

const newSuite = (id: string): Suite => ({
  id,
  declared: [],
  hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
  reached: new Set(),
  hookMs: 0,
});

/** Where declarations go: the suite that is being declared, or the test that is running. */
let target = newSuite('');

function declare(kind: Declared['kind']) {
  const add = (name: string, optionsOrBody: Options | Body, body?: Body): void => {
    const isShort = typeof optionsOrBody === 'function';
    const run = isShort ? optionsOrBody : body;
    const isSkipped = !isShort && Boolean(optionsOrBody.skip);
    if (run !== undefined && !isSkipped) target.declared.push({ kind, name, body: run });
  };
  return Object.assign(add, { skip: () => {}, todo: () => {} });
}
const hook = (name: HookName) => (body: Body) => {
  target.hooks[name].push(body);
};

export const describe = declare('suite');
export const suite = describe;
export const it = declare('test');
export const test = it;
export const before = hook('before');
export const after = hook('after');
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');
/** Fake timers and spies keep no state of a run, so node's own serve. */
export const { mock } = process.getBuiltinModule('node:test');

/** Imports a test file. @returns its declarations, for `runFile` */
export async function loadFile(url: string): Promise<Suite> {
  target = newSuite('');
  const root = target;
  recordInto(reachedAtLoad);
  await import(url);
  recordInto(undefined);
  return root;
}

class Timeout extends Error {}

/** An error nobody awaited belongs to the test that runs at that time. */
let rejectRunning: ((error: unknown) => void) | undefined;
process.on('uncaughtException', (error) => rejectRunning?.(error));
process.on('unhandledRejection', (error) => rejectRunning?.(error));

async function withLimit(limitMs: number, work: () => unknown): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Timeout(`not done after ${limitMs} ms`)), limitMs);
  rejectRunning = reject;
  try {
    await Promise.race([(async () => work())(), promise]);
  } finally {
    clearTimeout(timer);
    rejectRunning = undefined;
  }
}

class FileRun {
  readonly records: TestRecord[] = [];
  failure: RunResult['failure'];
  readonly #request: RunRequest;
  readonly #chosen: ReadonlySet<string> | undefined;

  constructor(request: RunRequest) {
    this.#request = request;
    this.#chosen = request.tests && new Set(request.tests);
  }

  #isWanted(id: string): boolean {
    if (this.#chosen === undefined) return true;
    return this.#chosen.has(id) || [...this.#chosen].some((chosen) => chosen.startsWith(`${id}/`));
  }

  /** @returns whether all bodies ran through */
  async #step(id: string, reached: Set<number>, bodies: readonly Body[], context: TestContext): Promise<boolean> {
    try {
      if (!this.#request.isTrial) recordInto(reached);
      for (const body of bodies) await withLimit(this.#request.limitOf(id), () => body(context));
      return true;
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
      this.failure ??= { id, message, isTimeout: error instanceof Timeout };
      return false;
    } finally {
      recordInto(undefined);
    }
  }

  async suite(own: Suite, parents: readonly Suite[]): Promise<void> {
    const context = contextOf(own.id, own);
    const startedAt = performance.now();
    const isReady = await this.#step(own.id, own.reached, own.hooks.before, context);
    own.hookMs = performance.now() - startedAt;
    for (const [index, declared] of own.declared.entries()) {
      if (!isReady || (this.#request.isTrial && this.failure !== undefined)) break;
      const id = `${own.id}/${index}`;
      if (!this.#isWanted(id)) continue;
      if (declared.kind === 'test') await this.#test(id, declared, [...parents, own]);
      else await this.#inner(id, declared, [...parents, own]);
    }
    await this.#step(own.id, own.reached, own.hooks.after, context);
  }

  async #inner(id: string, { name, body }: Declared, parents: readonly Suite[]): Promise<void> {
    if (name === 'on postgres') return;
    const inner = newSuite(id);
    const outer = target;
    target = inner;
    await this.#step(id, inner.reached, [body], contextOf(name, inner));
    target = outer;
    await this.suite(inner, parents);
  }

  async #test(id: string, { name, body }: Declared, parents: readonly Suite[]): Promise<void> {
    const outer = target;
    target = newSuite(id);
    const own = target;
    const context = contextOf(name, own);
    const each = (hookName: HookName) => parents.flatMap(({ hooks }) => hooks[hookName]);
    const startedAt = performance.now();
    const earlier = this.failure;
    this.failure = undefined;
    if (await this.#step(id, own.reached, each('beforeEach'), context))
      await this.#step(id, own.reached, [body], context);
    await this.#step(id, own.reached, own.hooks.after, context);
    await this.#step(id, own.reached, each('afterEach'), context);
    const failure = this.failure as RunResult['failure'];
    this.failure = earlier ?? failure;
    target = outer;
    this.records.push({
      id,
      name,
      durationMs: performance.now() - startedAt,
      hookMs: parents.reduce((sum, { hookMs }) => sum + hookMs, 0),
      reached: [...new Set([...parents.flatMap(({ reached }) => [...reached]), ...own.reached])],
      ...(failure !== undefined && { failure: failure.message }),
    });
  }
}

const contextOf = (name: string, own: Suite): TestContext => ({
  name,
  signal: new AbortController().signal,
  after: (body) => void own.hooks.after.push(body),
  diagnostic: () => {},
});

/** Runs a loaded file, or some of its tests. */
export async function runFile(root: Suite, request: RunRequest): Promise<RunResult> {
  const run = new FileRun(request);
  await run.suite(root, []);
  return { records: run.records, ...(run.failure !== undefined && { failure: run.failure }) };
}
