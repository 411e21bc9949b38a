import { BATCH_CLIENT } from '../../contract/batches.ts';
import { ERRORS, type ErrorCode, type ErrorDefinition } from '../../contract/error-codes.ts';
import { asObject, defined } from '../../contract/objects.ts';
import type { Chat } from '../chat/module.ts';
import { isAppError } from '../platform/app-error.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { Video } from '../video/module.ts';
import type { OnFaultPoint } from '../video/task-completion.ts';
import type { LineRequest } from './batch-input.ts';
import type { BatchOwner } from './batch-service.ts';
import type { BatchRow, BatchStore, LineEnd, LineRow } from './batch-store.ts';
import { type LineResponse, toLineEnd } from './line-results.ts';

/** A model call of a line, for the HTTP layer. */
export interface LineCall {
  readonly path: string;
  readonly body: Buffer;
  readonly requestId: string;
  readonly payer: BatchOwner;
}

/** A response with its `Retry-After`. */
export interface CallResponse extends LineResponse {
  readonly retryAfterSeconds: number | undefined;
}

export interface LineSenderDependencies {
  readonly database: Database<Tables>;
  readonly store: BatchStore;
  readonly video: Pick<Video, 'services' | 'store'>;
  readonly chat: Pick<Chat, 'quote'>;
  /** The caller that a key or an account is now. @throws AppError if it may not call any more */
  readonly callerOf: (owner: BatchOwner) => Promise<ModelCaller>;
  /** Sends a model call through the service's own endpoint. */
  readonly callModel: (call: LineCall) => Promise<CallResponse>;
  /** Renders an error as the endpoint's response. */
  readonly renderError: (path: string, error: unknown, requestId: string) => LineResponse;
  readonly ledger: Pick<Ledger, 'refund' | 'grant'>;
  readonly faultPoint: OnFaultPoint;
}

/**
 * What became of a line that was to be sent: it has ended, its video was started, the budget does not cover it, or a
 * limit refuses it for now.
 */
export type SendOutcome = 'ended' | 'started' | 'blocked' | { readonly retryAfterMs: number };

/** The lease under which a process sends lines. */
export interface Lease {
  readonly id: string;
  readonly owner: string;
}

const RETRY_MS = 15_000;
const MAX_RETRY_MS = 300_000;
/** Statuses of a refusal that a later repetition of the same request may not meet. */
const RETRYABLE_STATUSES = new Set([429, 503]);

/** The budget does not cover the line, or this process may not send lines of the batch any more. */
class LineBlockedError extends Error {}
/** The line was sent or ended already. */
class LineTakenError extends Error {}

/** Sends single lines. A line is sent at most once: the write that reserves its money moves it out of `pending`. */
export class LineSender {
  readonly #dependencies: LineSenderDependencies;
  constructor(dependencies: LineSenderDependencies) {
    this.#dependencies = dependencies;
  }

  async send(batch: BatchRow, lease: Lease, line: LineRow, request: LineRequest): Promise<SendOutcome> {
    try {
      return batch.endpoint === '/v1/videos'
        ? await this.#startVideo(batch, lease, line, request)
        : await this.#call(batch, lease, line, request);
    } catch (error) {
      if (error instanceof LineBlockedError) return 'blocked';
      if (error instanceof LineTakenError) return 'started';
      return await this.#refuse(batch, line, error);
    }
  }

  /**
   * Moves a line out of its state, and corrects the batch's spending to the line's new amount.
   * @returns whether it was in that state
   */
  finish(
    line: LineRow,
    from: { readonly state: LineRow['state']; readonly owner?: string; readonly ref?: string },
    end: LineEnd & { readonly charge?: number },
  ): Promise<boolean> {
    const { database, store } = this.#dependencies;
    const { state, owner, ref } = from;
    return database.transaction(async (trx) => {
      const { charge, ...rest } = end;
      const settled = charge === undefined ? {} : { amount: charge, is_settled: 1 as const };
      const condition = defined({ states: [state], owner, ref });
      const set = { state: rest.state, result: rest.result, owner: null, ...settled };
      if (!(await store.moveLine(trx, line, condition, set))) return false;
      await store.countEnd(trx, line.batch_id, { ...rest, released: charge === undefined ? 0 : line.amount - charge });
      return true;
    });
  }

  /** The task is inserted in the transaction that moves the line, so that neither exists without the other. */
  async #startVideo(batch: BatchRow, lease: Lease, line: LineRow, { body }: LineRequest): Promise<SendOutcome> {
    const { video, callerOf, store } = this.#dependencies;
    const caller = await callerOf(toOwner(batch));
    const { requests, submitter } = video.services;
    const generation = await requests.read(requests.check(body), caller);
    const { tokenId, ...account } = caller;
    await submitter.submit(tokenId === 0 ? account : caller, generation, {
      client: BATCH_CLIENT,
      claim: async (trx, taskId) => {
        const amount = await store.priceOf(trx, taskId);
        const started = { state: 'running', ref: taskId, amount } as const;
        if (!(await store.moveLine(trx, line, { states: ['pending'] }, started))) throw new LineTakenError();
        if (!(await store.spend(trx, lease, amount))) throw new LineBlockedError();
      },
    });
    return 'started';
  }

  async #call(batch: BatchRow, lease: Lease, line: LineRow, { body }: LineRequest): Promise<SendOutcome> {
    const { chat, callerOf, callModel, store, database, faultPoint } = this.#dependencies;
    const path = batch.endpoint;
    const payer = toOwner(batch);
    const bytes = Buffer.from(JSON.stringify(body));
    const amount = await chat.quote(await callerOf(payer), path, bytes);
    // The random end keeps callers from choosing this id for another call, whose charge would count as the line's.
    const requestId = `${batch.id}-${line.line}-${randomText(12)}`;
    const { owner } = lease;
    await database.transaction(async (trx) => {
      const sending = { state: 'sending', owner, ref: `req_${requestId}.`, amount } as const;
      if (!(await store.moveLine(trx, line, { states: ['pending'] }, sending))) throw new LineTakenError();
      if (!(await store.spend(trx, lease, amount))) throw new LineBlockedError();
    });
    faultPoint('batch-line-sent');
    const response = await callModel({ path, body: bytes, requestId, payer });
    faultPoint('batch-line-answered');
    if (RETRYABLE_STATUSES.has(response.status)) {
      await this.#putBack({ ...line, amount }, { state: 'sending', owner });
      return retryAfter(response.retryAfterSeconds);
    }
    const sent = { ...line, amount, ref: `req_${requestId}.` };
    if (!(await this.finish(sent, { state: 'sending', owner }, toLineEnd(line, response))))
      await this.#giveBack(batch, sent);
    return 'ended';
  }

  /** Refunds a call whose line another process has already ended as interrupted: its response is discarded. */
  async #giveBack({ user_id: userId }: BatchRow, { batch_id, line, ref }: LineRow): Promise<void> {
    const { database, store, ledger } = this.#dependencies;
    if (ref === null) return;
    for (const each of await store.listReservations(database.kysely, ref))
      await database.transaction((trx) => ledger.refund(trx, each));
    const amount = (await store.findCharge(database.kysely, ref)) ?? 0;
    if (amount === 0) return;
    const grant = { userId, amount, ref: `${batch_id}:${line}`, note: 'interrupted' };
    await database
      .transaction((trx) => ledger.grant(trx, grant))
      .catch((error: unknown) => {
        // The other process has returned it already.
        if (!isAppError(error, 'already_exists')) throw error;
      });
  }

  /** The outcome of a line whose request was refused. The stored row tells whether its video exists nevertheless. */
  async #refuse(batch: BatchRow, line: LineRow, error: unknown): Promise<SendOutcome> {
    const { store, video, renderError } = this.#dependencies;
    const [row] = await store.listLines(line.batch_id, line.line - 1, 1);
    if (row === undefined || row.line !== line.line) return 'ended';
    const again = retryDelayOf(error);
    if (row.state === 'pending') {
      if (again !== undefined) return retryAfter(again.seconds);
      const response = renderError(batch.endpoint, error, `${batch.id}-${line.line}`);
      await this.finish(row, { state: 'pending' }, { ...toLineEnd(row, response), charge: 0 });
      return 'ended';
    }
    // Its response is not known.
    if (row.state === 'sending') throw error;
    const { ref } = row;
    if (row.state !== 'running' || ref === null || again === undefined) return 'started';
    // The vendor has refused the video for now, and its task was refunded.
    if ((await video.store.findById(ref))?.status !== 'FAILURE') return 'started';
    await this.#putBack(row, { state: 'running', ref });
    return retryAfter(again.seconds);
  }

  /** Releases the money of a line that was refused, so that it can be sent again. */
  async #putBack(
    line: LineRow,
    from: { readonly state: LineRow['state']; readonly owner?: string; readonly ref?: string },
  ): Promise<void> {
    const { database, store } = this.#dependencies;
    const { state, ...rest } = from;
    await database.transaction(async (trx) => {
      const pending = { state: 'pending', owner: null, ref: null, amount: 0 } as const;
      if (await store.moveLine(trx, line, { states: [state], ...rest }, pending))
        await store.unspend(trx, line.batch_id, line.amount);
    });
  }
}

/** Whom the lines of a batch act for. */
const toOwner = ({ user_id: userId, token_id: tokenId, actor_id: actorId }: BatchRow): BatchOwner =>
  defined({ userId, tokenId, actorId: actorId ?? undefined });

const retryAfter = (seconds: number | undefined): { readonly retryAfterMs: number } => ({
  retryAfterMs: seconds === undefined ? RETRY_MS : Math.min(Math.max(1, seconds) * 1_000, MAX_RETRY_MS),
});

/** Undefined for an error that a repetition would meet again. */
function retryDelayOf(error: unknown): { readonly seconds: number | undefined } | undefined {
  if (error instanceof DatabaseUnavailableError) return { seconds: 1 };
  if (!isAppError(error)) return undefined;
  const { status }: ErrorDefinition = ERRORS[error.code as ErrorCode];
  const shown = error.options.status ?? status;
  return RETRYABLE_STATUSES.has(shown) ? { seconds: error.options.retryAfterSeconds } : undefined;
}

/** The reason of a failed video. */
export function failureOf(body: unknown): { readonly code: string; readonly message: string } {
  const error = asObject(asObject(body)?.error);
  return {
    code: typeof error?.code === 'string' && error.code !== '' ? error.code : 'video_failed',
    message: typeof error?.message === 'string' ? error.message : 'The video failed.',
  };
}
