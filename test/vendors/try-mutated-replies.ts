import fc from 'fast-check';
import { TASK_STATUS } from '../../src/contract/task-states.ts';
import { OutboundError } from '../../src/server/platform/outbound/outbound.ts';
import { PollFailed } from '../../src/server/upstreams/upstream.ts';
import type { Json, QueryOutcome, SubmitOutcome, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { arbitraryMutatedJson } from '../arbitrary-mutated-json.ts';
import { recordedReplies } from '../recorded-replies.ts';
import { fixedResponseContext, videoRequest } from './adapter-context.ts';

const STATUSES = [200, 200, 200, 201, 400, 401, 403, 404, 429, 500, 503];

interface MutationCase {
  /** Replies by name; default: those recorded beside the adapter. */
  readonly recorded?: Readonly<Record<string, unknown>>;
  readonly handle: Json;
  /** Names of recorded replies to a poll. */
  readonly replies: readonly string[];
  /** Names of recorded replies to a submit. */
  readonly submits: readonly string[];
  readonly model: string;
  readonly runs?: number;
  /** Whether a reply truly states this end of this very task; decided independently of the adapter. */
  mayEnd(state: 'SUCCESS' | 'FAILURE', reply: Json, status: number): boolean;
}

/**
 * Polls and submits with thousands of replies from arbitraryMutatedJson: the adapter throws only the interface's own
 * errors and ends no task wrongly.
 */
export async function tryMutatedReplies(vendor: VendorAdapter, given: MutationCase): Promise<void> {
  const half = Math.ceil((given.runs ?? 5_000) / 2);
  const recorded = given.recorded ?? recordedReplies(vendor.name);
  const from = (names: readonly string[]) =>
    fc.record({
      json: arbitraryMutatedJson(names.map((name) => recorded[name])) as fc.Arbitrary<Json>,
      status: fc.constantFrom(...STATUSES),
    });
  await fc.assert(
    fc.asyncProperty(from(given.replies), async ({ json, status }) => {
      const outcome = await expected<QueryOutcome>(vendor.query(given.handle, fixedResponseContext({ json, status })));
      if (outcome && !Object.hasOwn(TASK_STATUS, outcome.state)) throw new Error(`no state: ${String(outcome.state)}`);
      if (outcome?.error && typeof outcome.error.reason !== 'string') throw new Error('no reason of the closed set');
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
      const outcome = await expected<SubmitOutcome>(vendor.submit(request, fixedResponseContext({ json, status })));
      if (outcome?.kind === 'accepted' && status >= 300) throw new Error(`accepted with HTTP ${status}`);
      if (outcome?.kind === 'accepted' && !/^[\x21-\x7e]{1,4096}$/.test(outcome.upstreamId))
        throw new Error('a bad id');
      if (outcome?.kind === 'refused' && typeof outcome.error.reason !== 'string')
        throw new Error('no reason of the closed set');
      if (outcome?.kind === 'refused' && !outcome.error.message) throw new Error('refused without a reason');
    }),
    { numRuns: half },
  );
}

async function expected<T>(outcome: Promise<T>): Promise<T | undefined> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof PollFailed || error instanceof OutboundError) return undefined;
    throw error;
  }
}

/** Written independently of the adapters' tables. */
export const saysSuccess = (word: unknown): boolean =>
  /^\s*(success|succeeds?|succeeded|successful|done|completed?|finish(ed)?)\s*$/i.test(String(word));
/** Like {@link saysSuccess}, for failures. */
export const saysFailure = (word: unknown): boolean =>
  /^\s*(fail(ed|ure)?|error(ed)?|cancel(l?ed)?|abort(ed)?|terminated|expired?|time(d[ _])?out|reject(ed)?|refused|blocked|moderated|filtered)\s*$/i.test(
    String(word),
  );
