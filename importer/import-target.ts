import type { ChannelVendor } from '../src/server/channels/tables.ts';
import type { Trx } from '../src/server/tables.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import type { ImportedEndedTask, ImportedTask, TaskMapping } from './mapping/tasks.ts';
import type { Outcome } from './mapping/values.ts';

/** A task with its ids in this service. */
export interface NewImportedTask {
  readonly id: string;
  readonly userId: number;
  /** Undefined: none of the owner's keys can see the task. */
  readonly tokenId: number | undefined;
  readonly channelId: number;
  readonly task: ImportedTask;
  readonly now: number;
}

/** A task that ended in the source, with its ids in this service. */
export interface NewEndedTask {
  readonly importId: number;
  readonly id: string;
  /** Undefined: use its `id`. */
  readonly publicId: string | undefined;
  readonly userId: number;
  /** Undefined: none of the owner's keys can see the task. */
  readonly tokenId: number | undefined;
  readonly channelId: number | undefined;
  readonly task: ImportedEndedTask;
  readonly now: number;
}

/** The parts of the service an import depends on: its rules for channels and codes, and its units. */
export interface ImportTarget {
  /** Quota of one unit of the display currency. */
  readonly quotaPerUnit: number;
  readonly hasVendor: (name: string) => name is ChannelVendor;
  isVideoVendor(vendor: ChannelVendor): boolean;
  /** A row's channels if they can be created, or the reason why not. */
  checkChannels(outcome: Outcome<readonly ImportedChannel[]>): Outcome<readonly ImportedChannel[]>;
  /** Creates a channel. @returns its id and the time of its last change */
  addChannel(
    trx: Trx,
    channel: ImportedChannel,
    now: number,
  ): Promise<{ readonly id: number; readonly updatedAt: number }>;
  taskHandle: TaskMapping['taskHandle'];
  /** Creates a task that is polled immediately. @returns its number */
  addTask(trx: Trx, task: NewImportedTask): Promise<number>;
  /** Creates ended tasks as history, without charging for them. */
  addEndedTasks(trx: Trx, tasks: readonly NewEndedTask[]): Promise<void>;
  /** Seals the secret of a second step for storage with an account. */
  sealTotpSecret(userId: number, secret: string): string;
  /** The stored and displayed forms of a code. */
  sealCode(code: string): { readonly hash: string; readonly hint: string };
}
