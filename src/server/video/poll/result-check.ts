import { LRUCache } from 'lru-cache';
import { isAppError } from '../../platform/app-error.ts';
import { upToEntries } from '../../platform/cache.ts';
import type { Log } from '../../platform/log.ts';
import { BadVideoError, beginsLikePage, VideoCheck } from '../../platform/media.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { QueryOutcome } from '../../vendors/adapter.ts';
import type { VendorFiles } from '../deliver/vendor-files.ts';
import type { Task } from '../task-store.ts';
import { truncateBase64 } from '../truncate-base64.ts';

export interface ResultCheckDependencies {
  readonly vendorFiles: Pick<VendorFiles, 'openAsPolled'>;
  readonly log: Log;
}

/**
 * `playable`: a video, as far as its first bytes show. `unknown`: the file could not be read to where that shows. `page`: a
 * text or nothing in its place. `unplayable`: something else, or a whole file without what a player needs.
 */
type Finding = 'playable' | 'unknown' | 'page' | 'unplayable';

/** Polls in a row that have to find the same before the task fails: a host may answer with a page for a moment. */
const LIMITS: Readonly<Partial<Record<Finding, number>>> = { page: 10, unplayable: 3 };
const TIMEOUT_MS = 10_000;
const UNPLAYABLE: VendorError = {
  reason: 'other',
  cause: 'no_result',
  retryable: false,
  httpStatus: 200,
  code: 'unplayable_video',
  message: 'the vendor reported success, but its file is not a playable video',
};
/** A file whose index comes last has to be read up to there; of a longer one the copy finds out. */
const MAX_BYTES = 32 * 1024 ** 2;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Looks at the file of a video that its vendor calls finished, before anybody is charged for it: a task whose file can never be
 * played fails and is refunded like any other. The count of odd polls is kept in memory, since losing it costs a few more polls.
 */
export class ResultCheck {
  readonly #dependencies: ResultCheckDependencies;
  readonly #oddPolls = new LRUCache<string, number>(upToEntries(MAX_TASKS_REMEMBERED));

  constructor(dependencies: ResultCheckDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns the outcome to apply; undefined: the next poll decides */
  async check(task: Task, outcome: QueryOutcome, signal: AbortSignal): Promise<QueryOutcome | undefined> {
    if (outcome.state !== 'SUCCESS' || outcome.artifact === undefined) return outcome;
    const finding = await this.#inspect(task, outcome, signal);
    const limit = LIMITS[finding];
    const oddPolls = (this.#oddPolls.get(task.id) ?? 0) + 1;
    if (limit !== undefined && oddPolls < limit) {
      this.#oddPolls.set(task.id, oddPolls);
      return undefined;
    }
    this.#oddPolls.delete(task.id);
    if (limit === undefined) return outcome;
    return { state: 'FAILURE', error: UNPLAYABLE, raw: outcome.raw };
  }

  async #inspect(task: Task, { artifact, handle, raw }: QueryOutcome, signal: AbortSignal): Promise<Finding> {
    const finished: Task = {
      ...task,
      status: 'SUCCESS',
      artifact: JSON.stringify(artifact),
      data: JSON.stringify(truncateBase64(raw)),
      handle: handle === undefined ? task.handle : JSON.stringify(handle),
    };
    const request = { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), readAheadBytes: 0 };
    try {
      const { status, body } = await this.#dependencies.vendorFiles.openAsPolled(finished, request);
      try {
        return status === 200 ? await inspectBody(body) : 'unknown';
      } finally {
        body.destroy();
      }
    } catch (error) {
      if (error instanceof BadVideoError && !error.isCut) {
        this.#dependencies.log.warn({ err: error, taskId: task.id }, 'the file of a finished video is not playable');
        return 'unplayable';
      }
      if (!(error instanceof BadVideoError) && !(error instanceof OutboundError) && !isAppError(error))
        this.#dependencies.log.warn({ err: error, taskId: task.id }, 'the file of a finished video could not be read');
      return 'unknown';
    }
  }
}

/** Reads no further than to where the bytes show a video. @throws BadVideoError */
async function inspectBody(body: AsyncIterable<Buffer>): Promise<Finding> {
  const check = new VideoCheck();
  let first = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of body) {
    if (check.mimeType === undefined) {
      first = Buffer.concat([first, chunk]);
      if (beginsLikePage(first)) return 'page';
    }
    check.push(chunk);
    if (check.isVideo) return 'playable';
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return 'unknown';
  }
  if (first.length === 0) return 'page';
  check.end();
  return 'playable';
}
