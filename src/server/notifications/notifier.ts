import type { Transaction } from 'kysely';
import type { Tables } from '../tables.ts';

/** What an account can be told of. `topic` decides its preference and merges bursts; `type` is the contract's word. */
export interface Notice {
  readonly userId: number;
  readonly topic:
    | 'device.new'
    | 'security'
    | 'task.failed'
    | 'task.finished'
    | 'package.expiring'
    | 'quota.low'
    | 'ticket'
    | 'beta'
    | 'system';
  readonly type: 'system' | 'ticket_reply' | 'ticket_status' | 'beta_result';
  /** Both languages are written; the reader's is shown. */
  readonly title: { readonly en: string; readonly 'zh-CN': string };
  readonly content: { readonly en: string; readonly 'zh-CN': string };
  /** A path of the console such as `/tasks/task_…`; empty = not navigable. */
  readonly targetUrl: string;
  readonly relatedId?: number;
  /** The same key twice makes one notification. */
  readonly onceKey?: string;
}

/** The way into the notification center from every other part; inside the transaction of the event it tells of. */
export interface Notifier {
  notify(trx: Transaction<Tables>, notice: Notice): Promise<void>;
}
