import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { progressOf } from './states.ts';
import type { Task, TaskChange, TaskStore } from './store.ts';
import type { FaultPoint } from './submit.ts';
import { NO_TOKEN } from './tables.ts';

export interface EndingParts {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly quota: Quota;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly at: (point: FaultPoint) => void;
}

export interface FailOptions {
  /** The caller hears of it in the same answer, so no notification is written. */
  readonly quiet?: boolean;
}

/**
 * Where tasks end. The state, the money and the notice are one transaction, and the state's conditional write decides:
 * whoever sees an end first settles or refunds it, everybody later changes nothing.
 */
export class Endings {
  readonly #parts: EndingParts;
  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  /** Applies what a look found, terminal or not. Answers whether it changed anything. */
  async apply(
    task: Pick<Task, 'id' | 'attempt' | 'user_id' | 'token_id' | 'price' | 'public_id' | 'model' | 'prompt'>,
    change: TaskChange,
    options: FailOptions = {},
  ): Promise<boolean> {
    const { database, store, quota, notifier, clock, at } = this.#parts;
    return database.transaction(async (trx) => {
      if (!(await store.change(trx, task, change, clock.now()))) return false;
      if (change.status === 'SUCCESS') {
        at('before-settle');
        await quota.settle(trx, task.id, task.price);
        // A program looks for itself; a person who started it in the console may have gone on to something else.
        if (task.token_id === NO_TOKEN) await notifier.notify(trx, finishedNotice(task));
      }
      if (change.status === 'FAILURE') {
        at('mid-refund');
        const refunded = await quota.refund(trx, task.id);
        if (options.quiet !== true) await notifier.notify(trx, failureNotice(task, change.failReason ?? '', refunded));
      }
      return true;
    });
  }

  async fail(
    task: Pick<Task, 'id' | 'attempt'>,
    reason: string,
    code: string,
    options: FailOptions = {},
  ): Promise<boolean> {
    const row = await this.#parts.store.byId(task.id);
    if (row === undefined) return false;
    return this.apply(
      { ...row, attempt: task.attempt },
      {
        status: 'FAILURE',
        progress: progressOf('FAILURE', undefined),
        data: row.data,
        failReason: reason,
        errorCode: code,
      },
      options,
    );
  }

  /** The same for whatever attempt is the present one. */
  async failAny(id: string, reason: string, code: string, options: FailOptions = {}): Promise<boolean> {
    const row = await this.#parts.store.byId(id);
    return row === undefined ? false : this.fail(row, reason, code, options);
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
    onceKey: `task.finished:${task.id}`,
  } as const;
}

function failureNotice(
  task: Pick<Task, 'id' | 'user_id' | 'public_id' | 'model' | 'price'>,
  reason: string,
  refunded: boolean,
) {
  const words = reason === '' ? { en: 'no reason given', 'zh-CN': '未给出原因' } : { en: reason, 'zh-CN': reason };
  return {
    userId: task.user_id,
    topic: 'task.failed',
    type: 'system',
    title: { en: `${task.model}: the video failed`, 'zh-CN': `${task.model}：视频生成失败` },
    content: {
      en: `${words.en}${refunded ? '. The quota was returned.' : '.'}`,
      'zh-CN': `${words['zh-CN']}${refunded ? '。额度已退回。' : '。'}`,
    },
    targetUrl: `/videos/${task.public_id}`,
    onceKey: `task.failed:${task.id}`,
  } as const;
}
