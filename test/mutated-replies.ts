import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { OutboundError } from '../src/server/platform/outbound/outbound.ts';
import {
  CouldNotAsk,
  type Json,
  type QueryOutcome,
  type SubmitOutcome,
  type VideoVendor,
} from '../src/server/video/vendor.ts';
import { answeringCall, videoRequest } from './vendor-call.ts';

/** A recorded reply of `src/server/video/vendors/fixtures/<vendor>/`. */
export function recorded(vendor: string, name: string): Json {
  const url = new URL(`../src/server/video/vendors/fixtures/${vendor}/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8'));
}

/** What an upstream may write where something else belongs. */
const nonsense: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json[]>(null, true, false, 0, -1, 1e308, Number.MAX_SAFE_INTEGER + 1, '', ' ', 'null', '0', {}, []),
  fc.string() as fc.Arbitrary<Json>,
  fc.jsonValue() as fc.Arbitrary<Json>,
  fc.constantFrom<Json[]>('task_of_somebody_else', 'http://169.254.169.254/', 'javascript:alert(1)', 'done', 'succeed'),
);

function pathsOf(value: Json, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner as Json, [...path, key]))];
}

function replace(value: Json, path: readonly string[], change: (found: Json) => Json | undefined): Json {
  const [key, ...rest] = path;
  if (key === undefined) return change(value) ?? null;
  if (typeof value !== 'object' || value === null) return value;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as { [key: string]: Json };
  const inner = copy[key];
  if (inner === undefined) return value;
  const changed = rest.length === 0 ? change(inner) : replace(inner, rest, change);
  if (changed === undefined) delete copy[key];
  else copy[key] = changed;
  return copy as Json;
}

/** A reply with one to three of its values replaced by nonsense or gone. */
export function mutations(reply: Json): fc.Arbitrary<Json> {
  const change = fc.record({ path: fc.constantFrom(...pathsOf(reply)), by: fc.option(nonsense, { nil: undefined }) });
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => changes.reduce((value, { path, by }) => replace(value, path, () => by), reply));
}

const STATUSES = [200, 200, 200, 201, 400, 401, 403, 404, 429, 500, 503];

interface MutationCase {
  readonly handle: Json;
  /** Names of recorded replies to a query. */
  readonly replies: readonly string[];
  /** Names of recorded replies to a submit. */
  readonly submits: readonly string[];
  readonly model: string;
  readonly runs?: number;
  /** Whether a reply truly says that this very task has ended so; decided apart from the adapter. */
  mayEnd(state: 'SUCCESS' | 'FAILURE', reply: Json, status: number): boolean;
}

/** Asks with thousands of mutated replies: nothing but the interface's own errors is thrown, and no state ends that should not. */
export async function tryMutatedReplies(vendor: VideoVendor, given: MutationCase): Promise<void> {
  const half = Math.ceil((given.runs ?? 5_000) / 2);
  const from = (names: readonly string[]) =>
    fc.record({
      json: fc.oneof(...names.map((name) => mutations(recorded(vendor.name, name)))),
      status: fc.constantFrom(...STATUSES),
    });
  await fc.assert(
    fc.asyncProperty(from(given.replies), async ({ json, status }) => {
      const outcome = await expected<QueryOutcome>(vendor.query(given.handle, answeringCall({ json, status })));
      if (outcome?.state !== 'SUCCESS' && outcome?.state !== 'FAILURE') return;
      if (!given.mayEnd(outcome.state, json, status))
        throw new Error(`${outcome.state} out of ${JSON.stringify(json)}`);
      if (outcome.state === 'SUCCESS' && !outcome.artifact) throw new Error('success without an artifact');
      if (outcome.state === 'FAILURE' && !outcome.error?.message) throw new Error('failure without a reason');
    }),
    { numRuns: half },
  );
  await fc.assert(
    fc.asyncProperty(from(given.submits), async ({ json, status }) => {
      const request = videoRequest({ model: given.model });
      const outcome = await expected<SubmitOutcome>(vendor.submit(request, answeringCall({ json, status })));
      if (outcome?.kind === 'accepted' && status >= 300) throw new Error(`accepted with HTTP ${status}`);
      if (outcome?.kind === 'accepted' && !/^[\x21-\x7e]{1,255}$/.test(outcome.upstreamId)) throw new Error('a bad id');
      if (outcome?.kind === 'refused' && !outcome.error.message) throw new Error('refused without a reason');
    }),
    { numRuns: half },
  );
}

async function expected<T>(outcome: Promise<T>): Promise<T | undefined> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof CouldNotAsk || error instanceof OutboundError) return undefined;
    throw error;
  }
}
