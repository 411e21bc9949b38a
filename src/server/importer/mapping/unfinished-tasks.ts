import type { ChannelVendor } from '../../channels/directory.ts';
import type { SourceRow } from '../source/source-database.ts';
import type { ImportedChannel } from './channels.ts';
import { integerOf, textOf } from './column-values.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';
import { type RepeatedIds, readSourceTask, type SourceTask } from './read-source-task.ts';

/** A video that was begun there and is polled on here. */
export interface ImportedTask extends SourceTask {
  /** Which of the channels that the row became. */
  readonly channelIndex: number;
  readonly credentialId: number;
  readonly vendor: ChannelVendor;
  readonly hasStarted: boolean;
  /** What its vendor's adapter polls with. */
  readonly handle: unknown;
}

export interface TaskMapping {
  /** Channels that come over, by their rows' ids. */
  readonly channels: ReadonlyMap<number, readonly ImportedChannel[]>;
  /** Source ids of the accounts that come over. */
  readonly users: ReadonlySet<number>;
  readonly repeatedIds: RepeatedIds;
  isVideoVendor(vendor: ChannelVendor): boolean;
  /** The adapter's handle of a job, by the vendor's id of it; undefined where it cannot be polled. */
  taskHandle(vendor: ChannelVendor, job: { id: string; model: string; isFromText: boolean }): unknown;
}

/** One unfinished row of `tasks`. */
export function mapUnfinishedTask(
  row: SourceRow,
  { channels, users, repeatedIds, isVideoVendor, taskHandle }: TaskMapping,
): Outcome<ImportedTask> {
  const left = (why: string): Outcome<ImportedTask> =>
    skipped(
      `account ${textOf(row, 'user_id')} paid ${integerOf(row, 'quota')} for ${textOf(row, 'task_id')}, which is not finished: ${why}; let it finish there first`,
    );
  const task = readSourceTask(row, repeatedIds);
  if (!users.has(task.userId)) return left('its account does not come over');
  if (textOf(row, 'progress') === '100%') return left('it is not polled there any more');
  const made = channels.get(task.channelId) ?? [];
  const channelIndex = made.findIndex(({ vendor }) => isVideoVendor(vendor));
  const channel = made[channelIndex];
  if (channel === undefined) return left('its channel does not come over, or makes no videos here');
  if (task.vendorId === '') return left("its vendor's id is not in the database");
  const credentialId = credentialOf(channel, task.credential);
  if (credentialId === undefined) return left('which of the keys of its channel submitted it is not in the database');
  const model = task.model || (channel.models[0] ?? '');
  const upstreamModel = task.upstreamModel || model;
  const handle = taskHandle(channel.vendor, { id: task.vendorId, model: upstreamModel, isFromText: isFromText(task) });
  if (handle === undefined) return left('its vendor cannot be polled by what is in the database');
  const { vendor } = channel;
  const hasStarted = textOf(row, 'status') === 'IN_PROGRESS';
  return mapped({ ...task, model, upstreamModel, channelIndex, credentialId, vendor, hasStarted, handle });
}

export const isFromText = ({ action }: Pick<SourceTask, 'action'>): boolean => /^text/i.test(action);

/** Credentials are numbered in their order. Undefined: any of several may have submitted the task. */
export function credentialOf({ credentials }: ImportedChannel, key: string | undefined): number | undefined {
  if (credentials.length === 1) return 1;
  const index = credentials.findIndex(({ values }) => key !== undefined && values.api_key === key);
  return index === -1 ? undefined : index + 1;
}
