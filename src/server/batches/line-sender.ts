import { BATCH_CLIENT, BATCH_LIMITS } from '../../contract/batches.ts';
import { ERRORS, type ErrorCode, type ErrorDefinition } from '../../contract/error-codes.ts';
import { asObject, defined, isObject, type UntrustedObject } from '../../contract/objects.ts';
import type { Chat } from '../chat/module.ts';
import { isAppError } from '../platform/app-error.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { JsonRejectedError, parseRequestJson } from '../platform/json.ts';
import { toWellFormedJson } from '../platform/text.ts';
import { randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { Video } from '../video/module.ts';
import type { OnFaultPoint } from '../video/task-completion.ts';
import type { BatchOwner } from './batch-service.ts';
import type { BatchRow, BatchStore, LineEnd, LineRow, LineUsage, NewLine } from './batch-store.ts';

/** A response to the request of a line. */
interface LineResponse {
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
}

/** Why a line was not sent, or its response is not known. */
export const LINE_ERRORS = {
  budget_reached: 'The budget of the batch does not cover this line. It was not sent.',
  batch_expired: 'The completion window ended before this line was sent.',
  batch_cancelled: 'The batch was cancelled before this line was sent.',
  interrupted: 'The service stopped while it waited for the response. The line was refunded and not sent again.',
  input_file_not_found: 'The input file was deleted before this line was sent.',
} as const;
/** A line that has no response. */
export type LineErrorCode = keyof typeof LINE_ERRORS;

interface LineIdentity {
  readonly batch_id: string;
  readonly line: number;
  readonly custom_id: string;
}

/**
 * Line separators that JSON may hold unescaped. OpenAI's file has them escaped, and its Python client splits a file at
 * them (`iter_lines`, `splitlines`), so that one answer with such a character would break the reader of the whole file.
 */
const LINE_SEPARATORS = /[\u0085\u2028\u2029]/g;

/** The line of an output or error file, as in OpenAI's Batch API. */
function toResult(
  { batch_id, line, custom_id }: LineIdentity,
  response: LineResponse | undefined,
  error: { readonly code: string; readonly message: string } | null,
): string {
  return toWellFormedJson({
    id: `batch_req_${batch_id.slice('batch_'.length)}_${line}`,
    custom_id,
    response: response ? { status_code: response.status, request_id: response.requestId, body: response.body } : null,
    error,
  }).replace(LINE_SEPARATORS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Result of a line without a response. */
export const toLineError = (line: LineIdentity, code: LineErrorCode): LineEnd => ({
  state: 'failed',
  result: toResult(line, undefined, { code, message: LINE_ERRORS[code] }),
});

/** Result of a line with a response; a failed video has status 200 and its reason in `error`. */
export function toLineEnd(
  line: LineIdentity,
  response: LineResponse,
  error: { readonly code: string; readonly message: string } | null = null,
): LineEnd {
  const isSuccess = response.status < 400 && error === null;
  return defined({
    state: isSuccess ? ('completed' as const) : ('failed' as const),
    result: toResult(line, response, error),
    usage: isSuccess ? usageOf(response.body) : undefined,
  });
}

const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;

/** The tokens of a response, by either of OpenAI's names. */
function usageOf(body: unknown): LineUsage | undefined {
  const usage = asObject(asObject(body)?.usage);
  if (usage === undefined) return undefined;
  const input = asObject(usage.input_tokens_details ?? usage.prompt_tokens_details);
  const output = asObject(usage.output_tokens_details ?? usage.completion_tokens_details);
  return {
    input_tokens: count(usage.input_tokens ?? usage.prompt_tokens),
    cached_tokens: count(input?.cached_tokens),
    output_tokens: count(usage.output_tokens ?? usage.completion_tokens),
    reasoning_tokens: count(output?.reasoning_tokens),
  };
}

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

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const MAX_LINE_BYTES = BATCH_LIMITS.lineMb * 1024 ** 2;
/** Defects of a file that are reported; more would not help anybody. */
const MAX_DEFECTS = 100;

/** A line of a file. */
export interface FileLine {
  /** From 1. */
  readonly line: number;
  /** Position in the file, bytes. */
  readonly start: number;
  /** Length in the file, without the line feed. */
  readonly size: number;
  /** Without trailing blanks; undefined if the line exceeds the maximum length. */
  readonly bytes: Buffer | undefined;
}

/** A defect of a line, or of the whole file (`line` null), as OpenAI's `errors.data` has them. */
export interface InputDefect {
  readonly code: string;
  readonly line: number | null;
  readonly message: string;
  readonly param: string | null;
}

/** Splits a file as it arrives. Blank lines are counted and left out. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileLine> {
  let line = 1;
  let start = 0;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (rest: Buffer): FileLine | undefined => {
    const isTooLong = length + rest.length > MAX_LINE_BYTES;
    const bytes = isTooLong ? undefined : cleanLine(Buffer.concat([...parts, rest]), line);
    const found = bytes?.length === 0 ? undefined : { line, start, size: length + rest.length, bytes };
    start += length + rest.length + 1;
    line++;
    parts = [];
    length = 0;
    return found;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const found = take(chunk.subarray(from, end));
      if (found !== undefined) yield found;
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    // The bytes of a line that is too long are counted only.
    if (length + rest.length <= MAX_LINE_BYTES) parts.push(rest);
    length += rest.length;
  }
  const last = take(Buffer.alloc(0));
  if (last !== undefined) yield last;
}

/** A line without a byte order mark and blanks around its JSON. */
export function cleanLine(bytes: Buffer, line: number): Buffer {
  const text = line === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
  let end = text.length;
  while (end > 0 && (text[end - 1] ?? 0) <= 0x20) end--;
  return text.subarray(0, end);
}

/** The request of a line. */
export interface LineRequest {
  readonly customId: string;
  readonly body: UntrustedObject;
}

/** Parses one line. @returns its request, or the first defect */
export function parseLine(bytes: Buffer, endpoint: string): LineRequest | Omit<InputDefect, 'line'> {
  const value = parse(bytes);
  if (!isObject(value)) return defect('invalid_json_line', 'The line is not a JSON object.');
  const { custom_id: customId, method, url, body } = value;
  if (typeof customId !== 'string' || customId === '')
    return defect('missing_required_parameter', 'custom_id is required and must be text.', 'custom_id');
  if (customId.length > BATCH_LIMITS.customIdLength)
    return defect(
      'invalid_custom_id',
      `custom_id has more than ${BATCH_LIMITS.customIdLength} characters.`,
      'custom_id',
    );
  if (method !== 'POST') return defect('invalid_method', 'method must be POST.', 'method');
  if (url !== endpoint)
    return defect('mismatched_endpoint', `url must be the endpoint of the batch, ${endpoint}.`, 'url');
  if (!isObject(body)) return defect('missing_required_parameter', 'body is required and must be an object.', 'body');
  if (body.stream === true) return defect('stream_unsupported', 'body.stream: a batch cannot stream.', 'body.stream');
  return { customId, body };
}

function parse(bytes: Buffer): unknown {
  try {
    return parseRequestJson(bytes);
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}

const defect = (code: string, message: string, param: string | null = null) => ({ code, message, param });

/** Checks the lines of a file one by one: their form, and that every `custom_id` is unique. */
export class InputCheck {
  readonly #endpoint: string;
  readonly #known = new Set<string>();
  readonly #defects: InputDefect[] = [];
  #model: string | undefined;
  #isStopped = false;

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  /** @returns the line to store; undefined for one with a defect */
  push({ line, start, size, bytes }: FileLine): NewLine | undefined {
    if (bytes === undefined)
      return this.#report(line, defect('line_too_long', `A line has at most ${BATCH_LIMITS.lineMb} MB.`));
    const parsed = parseLine(bytes, this.#endpoint);
    if ('code' in parsed) return this.#report(line, parsed);
    const { customId, body } = parsed;
    if (this.#known.has(customId))
      return this.#report(line, defect('duplicate_custom_id', 'custom_id is used by an earlier line.', 'custom_id'));
    this.#known.add(customId);
    if (this.#known.size > BATCH_LIMITS.lines) {
      this.#isStopped = true;
      return this.#report(line, defect('too_many_lines', `A batch has at most ${BATCH_LIMITS.lines} lines.`));
    }
    if (typeof body.model === 'string') this.#model ??= body.model.slice(0, 200);
    return { line, custom_id: customId, start, bytes: size };
  }

  /** Whether more lines would change nothing. */
  get isStopped(): boolean {
    return this.#isStopped || this.#defects.length >= MAX_DEFECTS;
  }

  get model(): string | undefined {
    return this.#model;
  }

  get lineCount(): number {
    return this.#known.size;
  }

  /** All defects, after the file has been read. */
  end(): readonly InputDefect[] {
    if (this.#known.size === 0 && this.#defects.length === 0)
      return [{ ...defect('empty_file', 'The file has no lines.'), line: null }];
    return this.#defects;
  }

  #report(line: number, found: Omit<InputDefect, 'line'>): undefined {
    this.#defects.push({ ...found, line });
  }
}
