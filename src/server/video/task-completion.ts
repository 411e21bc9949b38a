import { BATCH_CLIENT } from '../../contract/batches.ts';
import { FAILURES_EN } from '../../contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../../contract/messages/failures-zh-cn.ts';
import { isObject } from '../../contract/objects.ts';
import { isChatPrice, priceCall, UnpricedError } from '../../contract/pricing.ts';
import type { RequestStatus } from '../../contract/request-kinds.ts';
import { type FailureCause, isTerminal, OPENAI_STATUS } from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Artifacts } from '../artifacts/module.ts';
import type { EventWriter, NewEvent } from '../event-log/event-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { truncateCodePoints } from '../platform/text.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { CallDetail, Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { BilledFacts } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { NO_TOKEN } from './tables.ts';
import {
  type Failure,
  parseTerms,
  progressOf,
  type Task,
  type TaskChange,
  type TaskStore,
  type TaskTerms,
  videoSpanOptions,
} from './task-store.ts';

interface TaskCompletionDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly quota: Ledger;
  readonly notifier: Notifier;
  readonly events: EventWriter;
  readonly artifacts: Pick<Artifacts, 'enqueue'>;
  readonly clock: Clock;
  readonly faultPoint: OnFaultPoint;
  readonly tracing: Tracing;
  readonly vendors: Pick<VendorRegistry, 'get'>;
}

/** The columns of a task's row that its completion needs. */
type EndingTask = Pick<
  Task,
  | 'id'
  | 'attempt'
  | 'user_id'
  | 'actor_id'
  | 'token_id'
  | 'price'
  | 'public_id'
  | 'model'
  | 'prompt'
  | 'created_at'
  | 'callback_url'
  | 'request'
  | 'vendor'
  | 'traceparent'
> &
  LoggedTask;

interface FailOptions {
  /**
   * Writes neither notification nor event: the caller never saw the task and learns of the failure from the response.
   */
  readonly suppressNotification?: boolean;
  /** Fails the task only while no vendor has confirmed it. */
  readonly whileUnconfirmed?: boolean;
}

/**
 * Ends tasks. State, settlement, notification and event are one transaction, decided by the conditional write of the
 * state: the first completion settles or refunds the task, and later ones change nothing.
 */
export class TaskCompletion {
  readonly #dependencies: TaskCompletionDependencies;
  #onEnded: (task: EndingTask) => void = () => {};
  constructor(dependencies: TaskCompletionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Calls `listener` after each end of a task in this process. */
  onEnded(listener: (task: EndingTask) => void): void {
    this.#onEnded = listener;
  }

  /**
   * Applies the result of a poll, terminal or not.
   * @returns whether it changed anything
   */
  async apply(task: EndingTask, change: TaskChange, options: FailOptions = {}): Promise<boolean> {
    const write = () => this.#write(task, change, options);
    if (!isTerminal(change.status)) return write();
    const hasEnded = await this.#dependencies.tracing.trace(videoSpanOptions('settle', task), write);
    if (hasEnded) this.#onEnded(task);
    return hasEnded;
  }

  #write(task: EndingTask, change: TaskChange, options: FailOptions): Promise<boolean> {
    const { database, store, quota, notifier, events, artifacts, clock, faultPoint, vendors } = this.#dependencies;
    return database.transaction(async (trx) => {
      const charge =
        change.status === 'SUCCESS'
          ? toTaskCharge(task, () => vendors.get(task.vendor).billedFacts?.(JSON.parse(change.data)))
          : undefined;
      const applied = charge === undefined ? change : { ...change, charged: charge.quota };
      if (!(await store.applyChange(trx, task, applied, clock.now()))) return false;
      if (charge !== undefined) {
        faultPoint('before-settle');
        const detail = toTaskDetail(task, change, charge.terms, clock.now());
        await quota.settle(trx, task.id, charge.quota, undefined, detail);
        await artifacts.enqueue(trx, task);
        // Programs poll, but a person who started the video in the console may have left the page.
        if (task.token_id === NO_TOKEN && task.client !== BATCH_CLIENT)
          await notifier.notify(trx, finishedNotice(task));
        await events.write(trx, toVideoEvent(task, change, clock.now()));
      }
      if (change.status === 'FAILURE') {
        faultPoint('mid-refund');
        const refunded = await quota.refund(trx, task.id, toTaskDetail(task, change, undefined, clock.now()));
        if (options.suppressNotification !== true) {
          const { cause = 'unknown' } = change.failure ?? {};
          // No notice: the owner cancelled the video, or its batch sends a single one.
          if (cause !== 'cancelled' && task.client !== BATCH_CLIENT)
            await notifier.notify(trx, failureNotice(task, cause, refunded));
          await events.write(trx, toVideoEvent(task, change, clock.now()));
        }
      }
      return true;
    });
  }

  /**
   * Fails the task if this is still its current attempt.
   * @returns whether it did
   */
  async fail(task: Pick<Task, 'id' | 'attempt'>, failure: Failure, options: FailOptions = {}): Promise<boolean> {
    const row = await this.#dependencies.store.findById(task.id);
    if (row === undefined) return false;
    return this.apply(
      { ...row, attempt: task.attempt },
      {
        status: 'FAILURE',
        progress: progressOf('FAILURE', undefined),
        data: row.data,
        failure,
        whileUnconfirmed: options.whileUnconfirmed === true,
      },
      options,
    );
  }

  /**
   * Fails a task that waits for a slot.
   * @returns false if it no longer waits
   */
  failWaiting(task: Task, failure: Failure): Promise<boolean> {
    const progress = progressOf('FAILURE', undefined);
    return this.apply(task, { status: 'FAILURE', progress, data: task.data, failure, whileWaiting: true });
  }
}

/** In an organization the member who submitted a video is notified, not its admins. */
const submitterOf = (task: Pick<Task, 'user_id' | 'actor_id'>): number => task.actor_id ?? task.user_id;

function finishedNotice(task: Pick<Task, 'id' | 'user_id' | 'actor_id' | 'public_id' | 'prompt'>) {
  return {
    userId: submitterOf(task),
    topic: 'task.finished',
    type: 'system',
    title: { en: 'Your video is ready', 'zh-CN': '视频已生成' },
    content: { en: task.prompt, 'zh-CN': task.prompt },
    targetUrl: `/videos/${task.public_id}`,
    deduplicationKey: `task.finished:${task.id}`,
  } as const;
}

const MAX_SNIPPET_LENGTH = 80;

/** The start of a prompt, by which its author recognizes the video. */
const toSnippet = (prompt: string): string => {
  const start = truncateCodePoints(prompt, MAX_SNIPPET_LENGTH);
  return start === prompt ? prompt : `${start}…`;
};

function failureNotice(
  task: Pick<Task, 'id' | 'user_id' | 'actor_id' | 'public_id' | 'prompt'>,
  cause: FailureCause,
  refunded: boolean,
) {
  const [en, zh] = [FAILURES_EN[cause], FAILURES_ZH_CN[cause]];
  const start = task.prompt === '' ? '' : `${toSnippet(task.prompt)}\n`;
  return {
    userId: submitterOf(task),
    topic: 'task.failed',
    type: 'system',
    title: { en: 'Your video failed', 'zh-CN': '视频生成失败' },
    content: {
      en: `${start}${en.text}${refunded ? ' It was not charged.' : ''} ${en.advice}`,
      'zh-CN': `${start}${zh.text}${refunded ? '未扣费。' : ''}${zh.advice}`,
    },
    targetUrl: `/videos/${task.public_id}`,
    deduplicationKey: `task.failed:${task.id}`,
  } as const;
}

type LoggedTask = Pick<
  Task,
  'channel_id' | 'upstream_model' | 'pricing' | 'price' | 'client' | 'created_at' | 'error_code'
>;

/** The charge of a finished video and its basis. */
interface TaskCharge {
  readonly quota: number;
  readonly terms: TaskTerms | undefined;
}

/**
 * The charge of a finished video: the reserved amount, or an amount from the vendor's own figures if the price says so,
 * never more than reserved. Without such figures, or if they match no line of the price, the reserved amount.
 *
 * @param billed reads the vendor's figures
 */
function toTaskCharge(
  { price: reserved, pricing }: Pick<Task, 'price' | 'pricing'>,
  billed: () => BilledFacts | undefined,
): TaskCharge {
  const terms = parseTerms(pricing);
  if (terms === undefined || isChatPrice(terms.price) || terms.price.settle_by !== 'vendor')
    return { quota: reserved, terms };
  const facts = { ...terms.facts, ...billed() };
  try {
    return { quota: Math.min(reserved, priceCall(terms.price, facts).quota), terms: { price: terms.price, facts } };
  } catch (error) {
    if (error instanceof UnpricedError || error instanceof RangeError) return { quota: reserved, terms };
    throw error;
  }
}

/**
 * Details of an ended video for the request log.
 * @param terms price terms of its charge; undefined if nothing is charged
 */
function toTaskDetail(task: LoggedTask, change: TaskChange, terms: TaskTerms | undefined, now: number): CallDetail {
  const status: RequestStatus = change.status === 'SUCCESS' ? 'ok' : 'failed';
  const seconds = terms?.facts.seconds;
  return {
    kind: 'video',
    servedModel: task.upstream_model,
    channelId: task.channel_id ?? 0,
    status,
    errorCode: status === 'ok' ? '' : (change.failure?.cause ?? 'upstream_error'),
    cachedTokens: 0,
    seconds: typeof seconds === 'number' ? seconds : 0,
    durationMs: Math.max(0, now - task.created_at),
    firstTokenMs: null,
    stream: false,
    client: task.client,
    price: terms === undefined ? '' : JSON.stringify(terms.price),
    facts: terms === undefined ? '' : JSON.stringify(terms.facts),
  };
}

/** Longer metadata is omitted to keep a payload below 20 KB, as Standard Webhooks recommends. */
const MAX_METADATA_LENGTH = 4_096;
const MAX_MESSAGE_LENGTH = 2_000;

/**
 * The event written when a task ends; `webhooks.unwrap` of OpenAI's client knows it as `video.completed` or
 * `video.failed`.
 */
function toVideoEvent(
  task: Pick<Task, 'id' | 'user_id' | 'public_id' | 'model' | 'created_at' | 'callback_url' | 'request'>,
  { status, failure }: Pick<TaskChange, 'status' | 'failure'>,
  now: number,
): NewEvent {
  const hasFailed = status === 'FAILURE';
  const { code = '', message = '' } = failure ?? {};
  return {
    type: hasFailed ? 'video.failed' : 'video.completed',
    userId: task.user_id,
    subject: toSubject(task),
    callbackUrl: task.callback_url,
    data: {
      ...toVideoData(task, status, now),
      error: hasFailed ? { code, message: message.slice(0, MAX_MESSAGE_LENGTH) } : null,
    },
  };
}

/** The subject of a video's events. */
export const toSubject = ({ id }: Pick<Task, 'id'>): string => `video:${id}`;

/**
 * Data common to all events of a video.
 * @param endedAt Unix milliseconds
 */
export function toVideoData(
  { public_id, model, created_at, request }: Pick<Task, 'public_id' | 'model' | 'created_at' | 'request'>,
  status: TaskChange['status'],
  endedAt: number,
) {
  return {
    id: public_id,
    object: 'video',
    status: OPENAI_STATUS[status],
    model,
    created_at: toSeconds(created_at),
    completed_at: toSeconds(endedAt),
    error: null,
    metadata: metadataOf(request),
  };
}

/** The caller's `metadata`, for recognizing the video; null if there is none. */
function metadataOf(request: string): object | null {
  const body: unknown = JSON.parse(request);
  const metadata = isObject(body) ? body.metadata : undefined;
  return isObject(metadata) && JSON.stringify(metadata).length <= MAX_METADATA_LENGTH ? metadata : null;
}

/** Named points between the steps that move a video's money; tests stop the process there. */
export type FaultPoint =
  | 'after-reserve'
  | 'before-send'
  | 'after-send'
  | 'after-answer'
  | 'before-settle'
  | 'mid-refund'
  | 'batch-half-checked'
  | 'batch-line-sent'
  | 'batch-line-answered'
  | 'batch-half-written'
  | 'transfer-decided'
  | 'transfer-chunk';

/** Called at every fault point; does nothing outside tests. */
export type OnFaultPoint = (point: FaultPoint) => void;
