import { LRUCache } from 'lru-cache';
import { defined } from '../../contract/objects.ts';
import {
  type CallFacts,
  type ChatPrice,
  hasAudioRate,
  maxTokenQuota,
  priceCall,
  priceTokens,
  scaleQuota,
  type TokenFacts,
  toTokenCallFacts,
  type VideoPrice,
  withPlanFactor,
} from '../../contract/pricing.ts';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import type { ResolvedModel } from '../channels/directory.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import { withinTime } from '../platform/concurrency.ts';
import { type Database, DatabaseUnavailableError, RowsLockedError } from '../platform/db/database.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import type { Admission } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, Ledger, Payer, Reservation, Settlement, TokenUsage } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import { EMBEDDINGS_DIALECT } from './dialects.ts';
import { type ChatRequest, estimateImageTokens, mayUseAudio } from './request.ts';
import type { CallMeta, JournaledEnd, SettlementJournal } from './settlement-journal.ts';
import { boundUsage, countTokens, extractPrompt, TOKENS_PER_MESSAGE, type Usage, type UsageBounds } from './usage.ts';

/** Outcome of a call: the upstream's own figures, or the text to count tokens from. */
export interface CallResult {
  readonly usage: Usage | undefined;
  /** The generated text, read only where the figures are missing or implausible. */
  text(): string;
  /** Whether the response is complete; the usage an upstream reports for a partial response is checked against its text. */
  readonly complete: boolean;
  /** Number of images generated, where that is known; default: the number requested. */
  readonly imageCount?: number | undefined;
}

/** Longest prompt that is tokenized to reduce a reservation; tokenizing takes some milliseconds for every 4 KB. */
const MAX_COUNTED_BYTES = 256 * 1024;
/** Other vendors' tokenizers differ from ours by a few percent. */
const TOKENIZER_MARGIN = 1.15;
/**
 * Text has fewer bytes than this per token, Chinese in JSON escapes included, so a caller who cannot afford this rate
 * cannot afford the call.
 */
const MOST_BYTES_PER_TOKEN = 16;
/** Typical bytes per token of ordinary text. */
export const USUAL_BYTES_PER_TOKEN = 4;
/** Longest wait for a refund before the caller gets the failure. */
const REFUND_WAIT_MS = 2_000;
const NO_TOKENS: TokenFacts = { promptTokens: 0, completionTokens: 0 };

interface CallChargeContext extends CallOrigin {
  readonly batcher: ChargeBatcher;
  readonly request: ChatRequest;
  readonly ref: string;
  /** By tokens, or by the piece. */
  readonly price: ChatPrice | PerImagePrice;
  /** The most that any channel asks on top of the price for options, in whole quota; reserved. */
  readonly surcharge: number;
  /** Price multiplier of the account's plan. */
  readonly planFactor: number;
  /** Receives the usage of the call once it has ended; undefined: the key has no limits. */
  readonly admission: Pick<Admission, 'end'> | undefined;
  /** Receives what spend limits leave. */
  readonly onSpendLimits: NonNullable<Reservation['onSpendLimits']>;
  readonly log: Pick<Log, 'warn'>;
}

/** The money of one call: reserved once, settled or refunded once. */
export class CallCharge {
  readonly #context: CallChargeContext;
  readonly #batcher: ChargeBatcher;
  readonly #request: ChatRequest;
  readonly #ref: string;
  readonly #price: ChatPrice | PerImagePrice;
  #payer: Payer = { userId: 0, tokenId: undefined, actorId: undefined };
  #maxOutputTokens = 0;
  #closed = false;
  #durable: Promise<void> = Promise.resolve();

  constructor(context: CallChargeContext) {
    this.#context = context;
    this.#batcher = context.batcher;
    this.#request = context.request;
    this.#ref = context.ref;
    this.#price = context.price;
  }

  /** Account that pays; 0 before anything was reserved. */
  get userId(): number {
    return this.#payer.userId;
  }

  /**
   * Resolves when the reservation is on disk. Nothing of the upstream's response may reach the caller before, although
   * the request may be sent.
   */
  get durable(): Promise<void> {
    return this.#durable;
  }

  /**
   * Reserves the maximum cost of the call; `durable` follows.
   *
   * @param maxOutputTokens the limit sent to the upstream, for all choices together
   * @throws AppError `quota_not_enough`
   */
  async reserve(
    caller: Pick<ModelCaller, 'userId' | 'tokenId' | 'actorId'>,
    model: string,
    maxOutputTokens: number,
  ): Promise<void> {
    this.#payer = { userId: caller.userId, tokenId: caller.tokenId, actorId: caller.actorId };
    this.#maxOutputTokens = maxOutputTokens;
    const amount = this.maximum(maxOutputTokens);
    try {
      await this.#reserve(model, amount);
    } catch (error) {
      if (!isAppError(error, 'quota_not_enough')) throw error;
      const counted = await this.#countedAmount(error);
      if (counted === undefined || counted >= amount) throw error;
      await this.#reserve(model, counted);
    }
  }

  /** The amount that {@link reserve} sets aside if the balance covers it. */
  maximum(maxOutputTokens: number): number {
    const { estimatedPromptTokens: promptTokens } = this.#request;
    return this.#maxCost({ promptTokens, completionTokens: maxOutputTokens });
  }

  /** Ends a call whose reservation did not reach the disk. */
  abandon(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.admission?.end(0);
  }

  /** Resolves when the quota is reserved, on disk or not. */
  #reserve(model: string, amount: number): Promise<void> {
    const decided = Promise.withResolvers<void>();
    this.#durable = this.#batcher.reserve(
      { ...this.#payer, ref: this.#ref, model, amount, onSpendLimits: this.#context.onSpendLimits },
      decided.resolve,
    );
    this.#durable.then(decided.resolve, decided.reject);
    return decided.promise;
  }

  /**
   * Data the journal needs to charge the call if this process dies.
   * @param end the end of the call as far as it is known
   */
  journalMeta(end: CallEnd): CallMeta {
    const { dialect, choiceCount, rawBody, estimatedPromptTokens } = this.#request;
    const { planFactor } = this.#context;
    const { surcharge = 0 } = end;
    const isKept = rawBody.length <= MAX_COUNTED_BYTES;
    const price = this.#price;
    return {
      ref: this.#ref,
      path: dialect.path,
      price: isPerImagePrice(price) ? perImageQuota(price, price.count) : price,
      surcharge,
      planFactor,
      choiceCount,
      promptTokens: isKept ? 0 : Math.ceil(estimatedPromptTokens / USUAL_BYTES_PER_TOKEN),
      detail: {
        ...toCallDetail(this.#request, this.#context, end),
        ...toStoredTerms(price, NO_TOKENS, isPerImagePrice(price) ? price.count : 0, surcharge, planFactor),
      },
    };
  }

  /** The body for the journal; empty if it is too long. */
  get journalBody(): Buffer {
    return this.#request.rawBody.length <= MAX_COUNTED_BYTES ? this.#request.rawBody : Buffer.alloc(0);
  }

  /**
   * Releases the whole reservation: nothing was generated, or nothing reached the caller. Resolves when that is
   * durable, or after two seconds without a database; retries then continue in the background.
   */
  refund(end: CallEnd): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    this.#context.admission?.end(0);
    return withinTime(this.#refund(end), REFUND_WAIT_MS, () => undefined);
  }

  #refund(end: CallEnd): Promise<void> {
    return this.#batcher.refund(this.#payer, this.#ref, toCallDetail(this.#request, this.#context, end));
  }

  /**
   * Charges what was generated. A complete response is charged by the usage the upstream reports. Where that usage is
   * missing, invalid, or zero although there was a prompt or text arrived, and for streams that were cut off, tokens are
   * counted.
   *
   * @param generatedAtLeast tokens the upstream is known to have generated, shown or not; 0: unknown
   */
  settle(result: CallResult, end: CallEnd, generatedAtLeast = 0): void {
    if (this.#closed) return;
    this.#closed = true;
    const { usage } = result;
    const isPerImage = isPerImagePrice(this.#price);
    const hasPrompt = isPerImage || (usage?.promptTokens ?? 0) > 0;
    const hasOutput =
      isPerImage || this.#request.dialect.maxTokensKeys.length === 0 || (usage?.completionTokens ?? 0) > 0;
    if (usage !== undefined && result.complete && hasPrompt && hasOutput) {
      this.#settle(this.#boundUsage(usage, result), end, result.imageCount);
      return;
    }
    // If counting fails as well, the amount is unknown, so the reservation is released.
    this.#batcher.track(
      this.#countAndSettle(result, end, generatedAtLeast).catch(() => {
        this.#context.admission?.end(0);
        return this.#refund(end);
      }),
    );
  }

  async #countAndSettle(result: CallResult, end: CallEnd, generatedAtLeast: number): Promise<void> {
    const usage = await countUsage(this.#request, result, Math.min(generatedAtLeast, this.#maxOutputTokens));
    this.#settle(this.#boundUsage(usage, result), end, result.imageCount);
  }

  /** Caps an upstream's figures at the maximum the request can have cost. */
  #boundUsage(usage: Usage, result: CallResult): Usage {
    const bounds = boundsOf(this.#request, usage, result, this.#maxOutputTokens);
    const bounded = boundUsage(usage, bounds);
    if (bounded !== usage)
      this.#context.log.warn(
        { ref: this.#ref, model: this.#context.model.target, reported: usage, bounds },
        'an upstream reported more tokens than the call can have used',
      );
    return bounded;
  }

  #settle(usage: Usage, end: CallEnd, imageCount?: number): void {
    const { planFactor, admission } = this.#context;
    const { surcharge = 0 } = end;
    admission?.end(usage.promptTokens + usage.completionTokens);
    const price = this.#price;
    const images = isPerImagePrice(price) ? (imageCount ?? price.count) : 0;
    this.#batcher.settle(
      this.#payer,
      this.#ref,
      withSurcharge(
        isPerImagePrice(price) ? perImageQuota(price, images) : planTokenQuota(price, usage, planFactor),
        surcharge,
      ),
      usage,
      {
        ...toCallDetail(this.#request, this.#context, end),
        cachedTokens: usage.parts?.cached_input ?? 0,
        ...toStoredTerms(price, usage, images, surcharge, planFactor),
      },
    );
  }

  /** Maximum cost of a number of tokens, when it is not yet known which of them are cached or audio. */
  #maxCost(tokens: TokenFacts): number {
    const price = this.#price;
    const cost = isPerImagePrice(price)
      ? perImageQuota(price, price.count)
      : scaleQuota(
          maxTokenQuota(price, tokens, hasAudioRate(price) && mayUseAudio(this.#request)),
          this.#context.planFactor,
        );
    return withSurcharge(cost, this.#context.surcharge);
  }

  /**
   * Counts the prompt's tokens when the balance does not cover the first estimate. That estimate takes every byte for a
   * token, which is a safe upper bound but several times too high for ordinary text.
   */
  async #countedAmount({ options }: AppError): Promise<number | undefined> {
    const { rawBody, body, estimatedPromptTokens } = this.#request;
    if (isPerImagePrice(this.#price) || rawBody.length > MAX_COUNTED_BYTES) return undefined;
    const completionTokens = this.#maxOutputTokens;
    const promptTokens = Math.floor(estimatedPromptTokens / MOST_BYTES_PER_TOKEN);
    if ((options.quotaLeft ?? 0) < this.#maxCost({ promptTokens, completionTokens })) return undefined;
    const prompt = extractPrompt(body);
    const messages = Array.isArray(body.messages) ? body.messages.length : 1;
    const text = Math.ceil((await countTokens(prompt.text)) * TOKENIZER_MARGIN) + messages * TOKENS_PER_MESSAGE;
    return this.#maxCost({
      promptTokens: text + estimateImageTokens(prompt.imageCount) + prompt.tokenIdCount,
      completionTokens,
    });
  }
}

const withSurcharge = (cost: number, surcharge: number): number => Math.min(cost + surcharge, Number.MAX_SAFE_INTEGER);

/** Counts the usage of a response that is incomplete or does not report its usage. */
export async function countUsage(
  { body }: Pick<ChatRequest, 'body'>,
  result: CallResult,
  generatedAtLeast: number,
): Promise<Usage> {
  const { usage, complete } = result;
  const counted = Math.max(await countTokens(result.text()), generatedAtLeast);
  const reported = usage?.promptTokens ?? 0;
  // No prompt has 0 tokens: Ollama reports none for one that it had cached, LM Studio none for embeddings.
  const prompt = reported > 0 ? undefined : extractPrompt(body);
  const promptTokens =
    prompt === undefined
      ? reported
      : (await countTokens(prompt.text)) + estimateImageTokens(prompt.imageCount) + prompt.tokenIdCount;
  const completionTokens = complete
    ? usage?.completionTokens || counted
    : Math.max(counted, usage?.completionTokens ?? 0);
  return { promptTokens, completionTokens, reasoningTokens: usage?.reasoningTokens ?? 0, parts: usage?.parts };
}

/** Tokens that upstreams add around a prompt: templates, and instructions of their own. */
const OVERHEAD_TOKENS = 4_096;
/** Upper bound for a large image, or a page of a document. */
const MOST_TOKENS_PER_MEDIUM = 16_384;
/** Upper bound for one generated image that is billed by tokens. */
const MOST_TOKENS_PER_IMAGE = 16_384;
/** Members that make an upstream read content outside the request, of unlimited size. */
const OUTSIDE_CONTENT =
  /"(?:file_id|file_ids|file_url|fileUri|file_uri|video_url|audio_url|document|cached_?content|previous_response_id|conversation|item_reference|plugins|mcp_servers)"|search|code_(?:execution|interpreter)|codeExecution|url_?context|web_fetch|"mcp"/i;

/**
 * Upper bounds of a call's usage: one token for each byte sent plus the maximum for each medium, and the response limit
 * or the text received.
 */
function boundsOf(
  { rawBody, body, estimatedPromptTokens, dialect, choiceCount }: ChatRequest,
  { promptTokens, completionTokens }: Usage,
  result: CallResult,
  maxOutputTokens: number,
): UsageBounds {
  const least = Math.max(rawBody.length, estimatedPromptTokens) + OVERHEAD_TOKENS;
  const generates = dialect.maxTokensKeys.length > 0 ? maxOutputTokens : MOST_TOKENS_PER_IMAGE * choiceCount;
  return {
    promptTokens:
      promptTokens <= least
        ? least
        : OUTSIDE_CONTENT.test(rawBody.toString('latin1'))
          ? Number.POSITIVE_INFINITY
          : least + extractPrompt(body).imageCount * MOST_TOKENS_PER_MEDIUM,
    completionTokens:
      completionTokens <= generates ? generates : Math.max(generates, Buffer.byteLength(result.text(), 'utf8')),
  };
}

/** A price for each image, independent of tokens. */
export interface PerImagePrice {
  readonly price: VideoPrice;
  /** Size and quality in the terms of the price. */
  readonly factors: Readonly<Record<string, string>>;
  /** Number of images requested. */
  readonly count: number;
  /** Price multiplier of the account's plan. */
  readonly planFactor: number;
}

const isPerImagePrice = (price: ChatPrice | PerImagePrice): price is PerImagePrice => 'factors' in price;

/** Billing facts of a number of images. */
const perImageFacts = ({ factors, planFactor }: PerImagePrice, images: number, surcharge: number): CallFacts =>
  defined({
    ...factors,
    images,
    surcharge: surcharge > 0 ? surcharge : undefined,
    plan_factor: planFactor === 1 ? undefined : planFactor,
  });

/** Cost of a number of images without a surcharge, in whole quota; at most the largest safe integer. */
export function perImageQuota(price: PerImagePrice, images: number): number {
  return Math.min(priceCall(price.price, perImageFacts(price, images, 0)).quota, Number.MAX_SAFE_INTEGER);
}

/** Cost of a call by tokens on a plan, without a surcharge, in whole quota. */
export const planTokenQuota = (price: ChatPrice, usage: TokenFacts, planFactor: number): number =>
  withPlanFactor(priceTokens(price, usage), planFactor).quota;

/** Origin and purpose of a call. */
interface CallOrigin {
  readonly model: Pick<ResolvedModel, 'target' | 'kind'>;
  /** User-Agent of the caller. */
  readonly client: string;
  /** Start time, from `performance.now()`. */
  readonly begunAt: number;
}

/** How a call ended, as seen by its relay. */
export interface CallEnd {
  readonly status: RequestStatus;
  readonly errorCode?: string;
  /** 0: the call was sent to no channel. */
  readonly channelId: number;
  /** What the channel asks on top of the price for options, in whole quota; default 0. */
  readonly surcharge?: number | undefined;
  readonly firstTokenMs?: number;
}

const kindOf = ({ dialect }: Pick<ChatRequest, 'dialect'>, { kind }: Pick<ResolvedModel, 'kind'>): RequestKind =>
  kind === 'chat' && dialect === EMBEDDINGS_DIALECT ? 'embeddings' : kind;

/** The fields of a call that the request log keeps. */
export const toCallDetail = (
  request: Pick<ChatRequest, 'dialect' | 'stream'>,
  { model, client, begunAt }: CallOrigin,
  { status, errorCode = '', channelId, firstTokenMs }: CallEnd,
): CallDetail => ({
  kind: kindOf(request, model),
  servedModel: model.target,
  channelId,
  status,
  errorCode,
  cachedTokens: 0,
  seconds: 0,
  durationMs: Math.round(performance.now() - begunAt),
  firstTokenMs: firstTokenMs ?? null,
  stream: request.stream,
  client,
  price: '',
  facts: '',
});

/** Price and facts of a call in their stored form. */
export function toStoredTerms(
  price: ChatPrice | PerImagePrice,
  usage: TokenFacts,
  images: number,
  surcharge: number,
  planFactor: number,
): Pick<CallDetail, 'price' | 'facts'> {
  if (isPerImagePrice(price))
    return { price: JSON.stringify(price.price), facts: JSON.stringify(perImageFacts(price, images, surcharge)) };
  return { price: JSON.stringify(price), facts: JSON.stringify(toTokenCallFacts(usage, surcharge, planFactor)) };
}

/**
 * Settlements are delayed by this to share a transaction, because no caller waits for them and each would otherwise
 * cost a disk write.
 */
const SETTLEMENT_DELAY_MS = 5;
/** A reservation waits one millisecond per this many calls in flight, so that others can join its batch. */
const CALLS_PER_DELAY_MS = 200;
const RETRIES_MS = [50, 500, 5_000, 30_000];
const LOGGED_ATTEMPT = 3;
/**
 * How long a recently refused account gets transactions of its
 * own, because its refusals would roll back the work of others.
 */
const ISOLATION_MS = 60_000;
const MAX_ACCOUNTS = 10_000;
/**
 * How long the shared transaction waits for row locks. The batch of another process holds them for some milliseconds,
 * on a busy machine some tens; a longer holder must not delay every call.
 */
const SHARED_WAIT_MS = 200;

/** One step of a model call. */
type CallWork = { readonly reservation: Reservation } | { readonly settlement: Settlement; readonly payer: Payer };

interface ChargeBatcherDependencies {
  readonly database: Database<Tables>;
  readonly quota: Pick<Ledger, 'charge'>;
  readonly log: Log;
  readonly journal: SettlementJournal;
}

/**
 * Writes the money of model calls: one reservation before anything is sent and one settlement or refund afterwards,
 * whatever happens in between.
 *
 * Concurrent jobs share a transaction, which saves most of the cost of each. If it fails, because an account cannot pay
 * or its rows are locked for long, the jobs of each account share one, and if that fails too, each job has its own.
 */
export class ChargeBatcher {
  readonly #dependencies: ChargeBatcherDependencies;
  readonly #isPostgres: boolean;
  readonly #shared: JobBatcher<CallWork>;
  /** Jobs whose shared transaction failed, by account; later jobs of these accounts join them. */
  readonly #own = new Map<number, JobBatcher<CallWork>>();
  readonly #isolatedAccounts = new LRUCache<number, true>({ ...upToEntries(MAX_ACCOUNTS), ttl: ISOLATION_MS });
  /** Number of calls in flight. */
  #openCalls = 0;
  /** Settlements in progress, and callbacks that wait until there are none. */
  #pendingSettlements = 0;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(parts: ChargeBatcherDependencies) {
    this.#dependencies = parts;
    this.#isPostgres = hasConcurrentWriters(parts.database.kysely);
    this.#shared = this.#openQueue((jobs) =>
      this.#isPostgres ? this.#writeShared(jobs) : this.#writeUntilDecided(jobs),
    );
  }

  /**
   * Durable when it resolves.
   * @param onDecided called once the quota is reserved and only the flush is left, at most once and not in all cases
   * @throws AppError `quota_not_enough`
   */
  async reserve(reservation: Reservation, onDecided?: () => void): Promise<void> {
    const { userId, ref } = reservation;
    this.#openCalls++;
    try {
      if (!this.#isolatedAccounts.has(userId)) await this.#enqueue({ reservation }, 0, onDecided);
      else await this.#write([{ reservation }], { onDecided }).then(() => this.#isolatedAccounts.delete(userId));
    } catch (error) {
      if (error instanceof AppError) {
        this.#openCalls--;
        this.#isolatedAccounts.set(userId, true);
      }
      // If the result of the commit was lost, the reservation may exist although no call would settle it: refund it.
      else void this.refund(reservation, ref);
      throw error;
    }
  }

  /** Settles an account's reservation at its cost. Never throws, and callers do not wait for it. */
  settle(payer: Payer, ref: string, cost: number, use: TokenUsage, detail?: CallDetail): void {
    const end = { ref, cost, usage: use, detail };
    const journaled = this.#dependencies.journal.close(end);
    this.track(this.#writeWithRetries(payer, end, journaled, SETTLEMENT_DELAY_MS));
  }

  /**
   * Releases an account's reservation. Never rejects.
   * @returns a promise that resolves when the refund is durable, or was abandoned
   */
  refund(payer: Payer, ref: string, detail?: CallDetail): Promise<void> {
    const end = { ref, detail };
    const journaled = this.#dependencies.journal.close(end);
    const work = this.#writeWithRetries(payer, end, journaled, 0);
    this.track(work);
    return work;
  }

  /** Makes `idle` wait for work that leads to a settlement or refund. */
  track(work: Promise<void>): void {
    this.#pendingSettlements++;
    const done = (): void => {
      this.#pendingSettlements--;
      if (this.#pendingSettlements === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
    };
    work.then(done, done);
  }

  /** Resolves when every pending settlement and refund is on disk, or was abandoned. */
  async idle(): Promise<void> {
    while (this.#pendingSettlements > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Retries as long as the process lives; work it cannot complete stays in the journal. */
  async #writeWithRetries(
    payer: Payer,
    end: Settlement,
    journaled: JournaledEnd | undefined,
    delayMs: number,
  ): Promise<void> {
    this.#openCalls--;
    const { journal, log } = this.#dependencies;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#enqueue({ settlement: end, payer }, delayMs);
        journal.settled(journaled);
        return;
      } catch (error) {
        if (error instanceof AppError || error instanceof TypeError) {
          journal.settled(journaled);
          log.error({ err: error, ref: end.ref }, 'a model call could not be settled');
          return;
        }
        if (attempt === LOGGED_ATTEMPT) log.error({ err: error, ref: end.ref }, 'a settlement waits for the database');
        const waitMs = RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #openQueue(write: (jobs: readonly Job<CallWork>[]) => Promise<void>): JobBatcher<CallWork> {
    return new JobBatcher(write, () => Math.floor(this.#openCalls / CALLS_PER_DELAY_MS));
  }

  #enqueue(work: CallWork, waitMs: number, onDecided?: () => void): Promise<void> {
    return (this.#own.get(payerOf(work)) ?? this.#shared).add(work, waitMs, onDecided);
  }

  #ownQueue(userId: number): JobBatcher<CallWork> {
    const known = this.#own.get(userId);
    if (known !== undefined) return known;
    const queue = this.#openQueue(async (jobs) => {
      await this.#writeOwn(jobs);
      if (queue.hasNone) this.#own.delete(userId);
    });
    this.#own.set(userId, queue);
    return queue;
  }

  /** Does the jobs of all accounts in one transaction, or passes them on to the queues of their accounts. */
  async #writeShared(jobs: readonly Job<CallWork>[], onDecided?: () => void): Promise<void> {
    try {
      await this.#write(worksOf(jobs), { onDecided, lockTimeoutMs: SHARED_WAIT_MS });
      for (const job of jobs) job.resolve();
    } catch (error) {
      if (isFinal(jobs, error) && !(error instanceof RowsLockedError)) for (const job of jobs) job.reject(error);
      else for (const job of jobs) this.#ownQueue(payerOf(job.work)).push(job, 0);
    }
  }

  /** SQLite: the next batch does not wait for the flush of this one, so that its calls reach their upstreams. */
  async #writeUntilDecided(jobs: readonly Job<CallWork>[]): Promise<void> {
    const decided = Promise.withResolvers<void>();
    const onDecided = (): void => {
      for (const job of jobs) job.onDecided?.();
      decided.resolve();
    };
    void this.#writeShared(jobs, onDecided).finally(decided.resolve);
    await decided.promise;
  }

  /** Does the jobs of one account in one transaction, or each in its own. */
  async #writeOwn(jobs: readonly Job<CallWork>[]): Promise<void> {
    try {
      await this.#write(worksOf(jobs));
      for (const job of jobs) job.resolve();
    } catch (error) {
      if (isFinal(jobs, error)) for (const job of jobs) job.reject(error);
      else await Promise.all(jobs.map((job) => this.#write([job.work]).then(job.resolve, job.reject)));
    }
  }

  /** @param onDecided SQLite: called when every statement has succeeded */
  async #write(
    batch: readonly CallWork[],
    { onDecided, lockTimeoutMs }: { readonly onDecided?: () => void; readonly lockTimeoutMs?: number } = {},
  ): Promise<void> {
    const { quota, database } = this.#dependencies;
    const reservations = batch.flatMap((work) => ('reservation' in work ? work.reservation : []));
    const settlements = batch.flatMap((work) => ('settlement' in work ? work.settlement : []));
    const charge = async (trx: Trx): Promise<void> => {
      await quota.charge(trx, { reservations, settlements });
      if (!this.#isPostgres) onDecided?.();
    };
    await database.transaction(charge, { lockTimeoutMs, avoidsScans: true });
  }
}

const worksOf = (jobs: readonly Job<CallWork>[]): CallWork[] => jobs.map(({ work }) => work);

const payerOf = (work: CallWork): number => ('reservation' in work ? work.reservation : work.payer).userId;

/** Whether smaller transactions would fail too; without a database, jobs to retry are batched again instead. */
const isFinal = (jobs: readonly Job<CallWork>[], error: unknown): boolean =>
  jobs.length === 1 || error instanceof DatabaseUnavailableError;

/** A queued piece of work and the callbacks of its caller. */
interface Job<W> {
  readonly work: W;
  readonly onDecided?: (() => void) | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/** A larger batch would delay each of its jobs too long. */
const MAX_BATCH_SIZE = 128;
const MAX_DELAY_MS = 5;

/** Collects jobs into batches: those that arrive while a batch is written form the next one. */
class JobBatcher<W> {
  readonly #write: (jobs: readonly Job<W>[]) => Promise<void>;
  readonly #minDelayMs: () => number;
  readonly #jobs: Job<W>[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param write settles every job of a batch, perhaps after it resolves, and never rejects
   * @param minDelayMs minimum time a batch waits for more jobs
   */
  constructor(write: (jobs: readonly Job<W>[]) => Promise<void>, minDelayMs: () => number) {
    this.#write = write;
    this.#minDelayMs = minDelayMs;
  }

  /** Whether no job is queued; a batch may still be in the process of being written. */
  get hasNone(): boolean {
    return this.#jobs.length === 0;
  }

  /** @param waitMs how long the job may wait for others to share its batch */
  add(work: W, waitMs: number, onDecided?: () => void): Promise<void> {
    return new Promise((resolve, reject) => this.push({ work, onDecided, resolve, reject }, waitMs));
  }

  push(job: Job<W>, waitMs: number): void {
    this.#jobs.push(job);
    if (this.#busy) return;
    if (waitMs === 0) void this.#drain();
    else this.#timer ??= setTimeout(() => void this.#drain(), waitMs);
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#busy = true;
    while (this.#jobs.length > 0) {
      await this.#collect();
      await this.#write(this.#jobs.splice(0, MAX_BATCH_SIZE));
    }
    this.#busy = false;
  }

  /**
   * Waits as long as every turn of the event loop adds jobs, at least for the requested delay and at most for 5 ms.
   */
  async #collect(): Promise<void> {
    const begunAt = performance.now();
    const minDelayMs = Math.min(MAX_DELAY_MS, this.#minDelayMs());
    if (minDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, minDelayMs));
    for (let before = 0; this.#jobs.length > before && performance.now() - begunAt < MAX_DELAY_MS; ) {
      before = this.#jobs.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
