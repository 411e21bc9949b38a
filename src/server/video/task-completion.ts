import { FAILURES_EN } from '../../contract/localized-messages/video-failures-en.ts';
import { FAILURES_ZH_CN } from '../../contract/localized-messages/video-failures-zh-cn.ts';
import { isTerminal } from '../../contract/task-states.ts';
import type { FailureCause } from '../../contract/video-failure-causes.ts';
import type { Artifacts } from '../artifacts/make.ts';
import type { EventWriter } from '../event-log/event-writer.ts';
import type { Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { OnFaultPoint } from './fault-points.ts';
import { progressOf } from './states.ts';
import { NO_TOKEN } from './tables.ts';
import { type LoggedTask, toTaskCharge, toTaskDetail } from './task-charge-and-log-detail.ts';
import type { Task, TaskChange, TaskStore } from './task-store.ts';
import type { Failure } from './vendor-error-to-task-failure.ts';
import { toVideoEvent } from './video-event.ts';
import { videoSpanOptions } from './video-span-options.ts';

export interface TaskCompletionDependencies {
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

/** What the end of a task needs of its row. */
type EndingTask = Pick<
  Task,
  | 'id'
  | 'attempt'
  | 'user_id'
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

export interface FailOptions {
  /** The caller learns of it from the response and never saw the task, so neither notification nor event is written. */
  readonly suppressNotification?: boolean | undefined;
}

/**
 * Ends tasks. State, settlement, notification and event are one transaction, decided by the conditional write of the state: the first
 * to complete a task settles or refunds it, later attempts change nothing.
 */
export class TaskCompletion {
  readonly #dependencies: TaskCompletionDependencies;
  constructor(dependencies: TaskCompletionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Applies the result of a poll, terminal or not. @returns whether it changed anything */
  async apply(task: EndingTask, change: TaskChange, options: FailOptions = {}): Promise<boolean> {
    const write = () => this.#write(task, change, options);
    return isTerminal(change.status)
      ? this.#dependencies.tracing.trace(videoSpanOptions('settle', task), write)
      : write();
  }

  #write(task: EndingTask, change: TaskChange, options: FailOptions): Promise<boolean> {
    const { database, store, quota, notifier, events, artifacts, clock, faultPoint, vendors } = this.#dependencies;
    return database.transaction(async (trx) => {
      if (!(await store.applyChange(trx, task, change, clock.now()))) return false;
      if (change.status === 'SUCCESS') {
        faultPoint('before-settle');
        const charge = toTaskCharge(task, () => vendors.get(task.vendor).billedFacts?.(JSON.parse(change.data)));
        const detail = toTaskDetail(task, change, charge.terms, clock.now());
        await quota.settle(trx, task.id, charge.quota, undefined, detail);
        await artifacts.enqueue(trx, task);
        // A program polls; a person who started it in the console may have left the page.
        if (task.token_id === NO_TOKEN) await notifier.notify(trx, finishedNotice(task));
        await events.write(trx, toVideoEvent(task, change, clock.now()));
      }
      if (change.status === 'FAILURE') {
        faultPoint('mid-refund');
        const refunded = await quota.refund(trx, task.id, toTaskDetail(task, change, undefined, clock.now()));
        if (options.suppressNotification !== true) {
          await notifier.notify(trx, failureNotice(task, change.failure?.cause ?? 'unknown', refunded));
          await events.write(trx, toVideoEvent(task, change, clock.now()));
        }
      }
      return true;
    });
  }

  /** Fails the task if this is still its attempt. @returns whether it did */
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
      },
      options,
    );
  }

  /** Fails the task whatever its current attempt is. */
  async failCurrentAttempt(id: string, failure: Failure, options: FailOptions = {}): Promise<boolean> {
    const row = await this.#dependencies.store.findById(id);
    return row === undefined ? false : this.fail(row, failure, options);
  }
}

function finishedNotice(task: Pick<Task, 'id' | 'user_id' | 'public_id' | 'model' | 'prompt'>) {
  return {
    userId: task.user_id,
    topic: 'task.finished',
    type: 'system',
    title: { en: `${task.model}: your video is ready`, 'zh-CN': `${task.model}：视频已生成` },
    content: { en: task.prompt, 'zh-CN': task.prompt },
    targetUrl: `/videos/${task.public_id}`,
    deduplicationKey: `task.finished:${task.id}`,
  } as const;
}

function failureNotice(
  task: Pick<Task, 'id' | 'user_id' | 'public_id' | 'model' | 'price'>,
  cause: FailureCause,
  refunded: boolean,
) {
  const [en, zh] = [FAILURES_EN[cause], FAILURES_ZH_CN[cause]];
  return {
    userId: task.user_id,
    topic: 'task.failed',
    type: 'system',
    title: { en: `${task.model}: the video failed`, 'zh-CN': `${task.model}：视频生成失败` },
    content: {
      en: `${en.text}${refunded ? ' It was not charged.' : ''} ${en.advice}`,
      'zh-CN': `${zh.text}${refunded ? '未扣费。' : ''}${zh.advice}`,
    },
    targetUrl: `/videos/${task.public_id}`,
    deduplicationKey: `task.failed:${task.id}`,
  } as const;
}
