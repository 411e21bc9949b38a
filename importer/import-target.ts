import type { ChannelVendor } from '../src/server/channels/directory.ts';
import type { Trx } from '../src/server/tables.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import type { ImportedEndedTask, ImportedTask, TaskMapping } from './mapping/tasks.ts';
import type { Outcome } from './mapping/values.ts';

/** A task with the ids it has here. */
export interface NewImportedTask {
  readonly id: string;
  readonly userId: number;
  /** Undefined: none of its owner's keys can see it. */
  readonly tokenId: number | undefined;
  readonly channelId: number;
  readonly task: ImportedTask;
  readonly now: number;
}

/** A task that ended in the source, with the ids it has here. */
export interface NewEndedTask {
  readonly importId: number;
  readonly id: string;
  /** Undefined: its `id`. */
  readonly publicId: string | undefined;
  readonly userId: number;
  /** Undefined: none of its owner's keys can see it. */
  readonly tokenId: number | undefined;
  readonly channelId: number | undefined;
  readonly task: ImportedEndedTask;
  readonly now: number;
}

/** What the importer needs of the service: its rules for channels and codes, and its units. */
export interface ImportTarget {
  /** Quota of one unit of the display currency. */
  readonly quotaPerUnit: number;
  readonly hasVendor: (name: string) => name is ChannelVendor;
  isVideoVendor(vendor: ChannelVendor): boolean;
  /** A row's channels as they can be made, or the reason why not. */
  checkChannels(outcome: Outcome<readonly ImportedChannel[]>): Outcome<readonly ImportedChannel[]>;
  /** Makes a channel. @returns its id and when it was changed last */
  addChannel(
    trx: Trx,
    channel: ImportedChannel,
    now: number,
  ): Promise<{ readonly id: number; readonly updatedAt: number }>;
  taskHandle: TaskMapping['taskHandle'];
  /** Makes a task that is polled at once. @returns its number */
  addTask(trx: Trx, task: NewImportedTask): Promise<number>;
  /** Makes tasks that have ended, as history: nothing is charged for them. */
  addEndedTasks(trx: Trx, tasks: readonly NewEndedTask[]): Promise<void>;
  /** The secret of a second step as it is stored for an account here. */
  sealTotpSecret(userId: number, secret: string): string;
  /** How a code is stored and shown. */
  sealCode(code: string): { readonly hash: string; readonly hint: string };
}
