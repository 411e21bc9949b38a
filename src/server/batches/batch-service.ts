import { BATCH_ENDPOINTS, type BatchEndpoint } from '../../contract/batch-endpoints.ts';
import { BATCH_KEPT_DAYS, BATCH_LIMITS, type Batch, type NewBatch } from '../../contract/batches.ts';
import { defined } from '../../contract/objects.ts';
import { openAiList } from '../../contract/responses.ts';
import { DAY_MS, HOUR_MS, toSeconds } from '../../contract/time-units.ts';
import type { FileService } from '../files/file-service.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Owner } from '../platform/http/route-registry.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import type { BatchRow, BatchStore, NamedBatch } from './batch-store.ts';

interface BatchServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BatchStore;
  readonly files: Pick<FileService, 'get' | 'open' | 'remove' | 'write'>;
  readonly clock: Clock;
  /** Called after a change that gives the runner work. */
  readonly onWork: () => void;
}

/** The person or key that asks. */
export interface BatchOwner extends Owner {
  /** 0: a person in the console. */
  readonly tokenId: number;
}

/** Unfinished batches of one account. */
const MAX_UNFINISHED = 100;
const RETRY_SECONDS = 60;
const CHUNK = 500;
const DEFAULT_WINDOW = '24h';

/**
 * Creates batches and changes them at their owner's request. Every key of an account sees them all; in an organization,
 * those of its author. In the console of an organization, members see their own, and admins all where they see prompts.
 */
export class BatchService {
  readonly #dependencies: BatchServiceDependencies;
  constructor(dependencies: BatchServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `invalid_request`, `file_not_found`, `batches_full` */
  async create(owner: BatchOwner, given: NewBatch, retryOf?: BatchRow): Promise<Batch> {
    const { database, store, clock, onWork } = this.#dependencies;
    const createdAt = clock.now();
    const endpoint = toEndpoint(given.endpoint);
    const window = toWindow(given.completion_window ?? DEFAULT_WINDOW);
    const metadata = toMetadata(given.metadata ?? null);
    await this.#assertInput(owner, given.input_file_id);
    if ((await store.countUnfinished(owner.userId)) >= MAX_UNFINISHED)
      throw new AppError('batches_full', {
        params: { most: String(MAX_UNFINISHED) },
        retryAfterSeconds: RETRY_SECONDS,
      });
    const row = {
      id: `batch_${randomText(24)}`,
      user_id: owner.userId,
      token_id: owner.tokenId,
      actor_id: owner.actorId ?? null,
      endpoint,
      model: null,
      input_file_id: given.input_file_id,
      completion_window: window.text,
      metadata,
      budget: given.budget ?? null,
      status: 'validating',
      ending: null,
      errors: null,
      output_file_id: null,
      error_file_id: null,
      output_lifetime_ms: given.output_expires_after ? given.output_expires_after.seconds * 1_000 : null,
      created_at: createdAt,
      expires_at: createdAt + window.ms,
      retry_of: retryOf?.id ?? null,
      lease_owner: null,
    } as const;
    await database.transaction(async (trx) => {
      if (retryOf !== undefined && !(await store.claimRetry(trx, retryOf, row.id))) throw new RetriedError();
      await store.insert(trx, row);
      await store.keepFile(trx, row.input_file_id, row.expires_at + BATCH_KEPT_DAYS * DAY_MS);
    });
    onWork();
    return this.get(owner, row.id);
  }

  /** @throws AppError `batch_not_found` */
  async get(owner: Owner, id: string): Promise<Batch> {
    return toBatch(await this.find(owner, id));
  }

  /** @throws AppError `batch_not_found` */
  async find(owner: Owner, id: string): Promise<NamedBatch> {
    const row = await this.#dependencies.store.find(owner, id);
    if (row === undefined) throw new AppError('batch_not_found');
    return row;
  }

  async list(owner: Owner, query: { readonly after?: string; readonly limit?: string }) {
    const { after, limit: text = '20' } = query;
    const limit = Number(text);
    if (!/^\d{1,3}$/.test(text) || limit < 1 || limit > 100)
      throw invalidRequest('limit must be from 1 to 100.', 'limit');
    const found = await this.#dependencies.store.list(owner, after, limit + 1);
    return openAiList(found.map(toBatch), limit);
  }

  /** Starts no new line and cancels waiting videos. A batch that is being cancelled stays as it is. */
  cancel(owner: Owner, id: string): Promise<Batch> {
    const now = this.#dependencies.clock.now();
    return this.#change(owner, id, {
      from: ['validating', 'in_progress'],
      set: { status: 'cancelling', cancelling_at: now },
      isDone: ({ status }) => status === 'cancelling' || status === 'cancelled',
    });
  }

  /** Starts no new line until the batch is resumed. */
  pause(owner: Owner, id: string): Promise<Batch> {
    const now = this.#dependencies.clock.now();
    return this.#change(owner, id, {
      from: ['validating', 'in_progress'],
      set: { paused_at: now },
      isDone: () => false,
    });
  }

  /** Lets a paused batch start lines again. */
  resume(owner: Owner, id: string): Promise<Batch> {
    return this.#change(owner, id, {
      from: ['validating', 'in_progress'],
      set: { paused_at: null },
      isDone: () => false,
    });
  }

  /**
   * Repeats the failed lines of an ended batch as a new batch. A batch is repeated once: a second call, concurrent or
   * later, returns the same new batch, whose own failed lines can be repeated.
   * @param reader whose batches may be repeated
   * @throws AppError `batch_not_found`, `batch_not_ended`, `batch_without_failures`, `file_not_found`
   */
  async retry(owner: BatchOwner, id: string, reader: Owner = owner): Promise<Batch> {
    const { files } = this.#dependencies;
    const batch = await this.find(reader, id);
    if (!ENDED.has(batch.status)) throw new AppError('batch_not_ended', { params: { status: batch.status } });
    if (batch.failed === 0) throw new AppError('batch_without_failures');
    const earlier = await this.#findRetry(batch);
    if (earlier !== undefined) return toBatch(earlier);
    await files.get(reader, batch.input_file_id);
    const file = { filename: `${id}_retry.jsonl`, purpose: 'batch', lifetimeMs: BATCH_KEPT_DAYS * DAY_MS } as const;
    const written = await files.write(owner, file, this.#failedLines(batch));
    const { endpoint, completion_window, metadata, budget, spent } = batch;
    const again = {
      input_file_id: written.id,
      endpoint,
      completion_window,
      metadata: metadata === null ? null : JSON.parse(metadata),
      budget: budget === null ? null : Math.max(0, budget - spent),
    };
    return this.create(owner, again, batch).catch(async (error: unknown) => {
      await files.remove(written.id);
      if (!(error instanceof RetriedError)) throw error;
      const { retried_as: other } = await this.find(reader, id);
      return this.get(reader, other ?? id);
    });
  }

  /** The batch that repeats another one; undefined if its file had defects, so that nothing was repeated. */
  async #findRetry({ retried_as: id }: BatchRow): Promise<BatchRow | undefined> {
    const found = id === null ? undefined : await this.#dependencies.store.findById(id);
    return found?.status === 'failed' ? undefined : found;
  }

  async *#failedLines(batch: BatchRow): AsyncGenerator<string> {
    const { store, files } = this.#dependencies;
    let after = 0;
    for (;;) {
      const lines = await store.listLines(batch.id, after, CHUNK, ['failed']);
      for (const { start, bytes } of lines) {
        const range = `bytes=${start}-${start + bytes - 1}`;
        const { body } = await files.open({ userId: batch.user_id }, batch.input_file_id, { range });
        yield `${Buffer.concat(await body.toArray())
          .toString('utf8')
          .replace(/^\ufeff/, '')
          .trimEnd()}\n`;
      }
      after = lines.at(-1)?.line ?? after;
      if (lines.length < CHUNK) return;
    }
  }

  async #change(
    owner: Owner,
    id: string,
    {
      from,
      set,
      isDone,
    }: {
      readonly from: readonly BatchRow['status'][];
      readonly set: Parameters<BatchStore['change']>[3];
      readonly isDone: (row: BatchRow) => boolean;
    },
  ): Promise<Batch> {
    const { store, database, onWork } = this.#dependencies;
    await this.find(owner, id);
    const isChanged = await store.change(database.kysely, id, from, set);
    const row = await this.find(owner, id);
    if (!isChanged && !isDone(row)) throw new AppError('batch_not_running', { params: { status: row.status } });
    onWork();
    return toBatch(row);
  }

  async #assertInput(owner: Owner, id: string): Promise<void> {
    const { purpose } = await this.#dependencies.files.get(owner, id);
    if (purpose !== 'batch')
      throw invalidRequest('input_file_id must be a file with the purpose batch.', 'input_file_id');
  }
}

/** Another call repeats the batch. */
class RetriedError extends Error {}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** @throws AppError that names the endpoints */
function toEndpoint(given: string): BatchEndpoint {
  const endpoint = BATCH_ENDPOINTS.find((each) => each === given);
  if (endpoint === undefined) throw invalidRequest(`endpoint must be ${BATCH_ENDPOINTS.join(', ')}.`, 'endpoint');
  return endpoint;
}

function toWindow(text: string): { readonly text: string; readonly ms: number } {
  const [, number, unit] = /^([1-9]\d{0,2})([hd])$/.exec(text) ?? [];
  const hours = Number(number ?? 0) * (unit === 'd' ? 24 : 1);
  const { least, most } = BATCH_LIMITS.windowHours;
  if (hours < least || hours > most)
    throw invalidRequest('completion_window must be from 1h to 168h, or from 1d to 7d.', 'completion_window');
  return { text, ms: hours * HOUR_MS };
}

/** OpenAI's limits of metadata. */
function toMetadata(metadata: Readonly<Record<string, string>> | null): string | null {
  if (metadata === null) return null;
  const { metadataKeys, metadataKeyLength, metadataValueLength } = BATCH_LIMITS;
  const entries = Object.entries(metadata);
  if (
    entries.length > metadataKeys ||
    entries.some(([key, value]) => key.length > metadataKeyLength || value.length > metadataValueLength)
  )
    throw invalidRequest(
      'metadata has at most 16 keys of at most 64 characters, with values of at most 512 characters.',
      'metadata',
    );
  return JSON.stringify(metadata);
}

const time = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

/** The public form of a batch. */
export function toBatch(row: BatchRow & Partial<NamedBatch>): Batch {
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = row;
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  };
  return {
    id: row.id,
    object: 'batch',
    endpoint: row.endpoint,
    model: row.model,
    errors: row.errors === null ? null : JSON.parse(row.errors),
    input_file_id: row.input_file_id,
    completion_window: row.completion_window,
    status: row.status,
    output_file_id: row.output_file_id,
    error_file_id: row.error_file_id,
    created_at: toSeconds(row.created_at),
    in_progress_at: time(row.in_progress_at),
    expires_at: time(row.expires_at),
    finalizing_at: time(row.finalizing_at),
    completed_at: time(row.completed_at),
    failed_at: time(row.failed_at),
    expired_at: time(row.expired_at),
    cancelling_at: time(row.cancelling_at),
    cancelled_at: time(row.cancelled_at),
    request_counts: { total: row.total, completed: row.completed, failed: row.failed },
    usage: row.endpoint === '/v1/videos' ? null : usage,
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    budget: row.budget,
    spent: row.spent,
    paused_at: time(row.paused_at),
    retry_of: row.retry_of,
    ...defined({ submitted_by: row.actor_name ?? undefined }),
  };
}
