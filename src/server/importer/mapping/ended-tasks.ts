import type { ChannelVendor } from '../../channels/directory.ts';
import type { SourceRow } from '../source/source-database.ts';
import { channelTypeOf, PLUGIN_VENDORS } from './channel-types.ts';
import { textOf, timeOf, toPlainText } from './column-values.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';
import { readSourceTask, type SourceTask } from './read-source-task.ts';
import { credentialOf, isFromText, type TaskMapping } from './unfinished-tasks.ts';

/** A video that ended there: history, with what it cost. */
export interface ImportedEndedTask extends SourceTask {
  readonly vendor: ChannelVendor;
  /** Which of the channels that its row became; undefined: its channel does not come over. */
  readonly channelIndex: number | undefined;
  /** Undefined where any of several may have submitted it. */
  readonly credentialId: number | undefined;
  readonly hasSucceeded: boolean;
  /** Where the source says that the file is; undefined where it does not say. */
  readonly url: string | undefined;
  /** Empty unless it failed. */
  readonly failReason: string;
  /** What its vendor's adapter asks for a fresh URL with; undefined where that takes more than the source has. */
  readonly handle: unknown;
  /** Unix milliseconds, as the next two; undefined where the row does not say. */
  readonly createdAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
}

/** Numbers here have room for so many. */
const MAX_SOURCE_ID = 2 ** 40;
const MAX_REASON = 2_000;
const MAX_URL = 4_096;
/** The old program's own address of a file, for vendors whose files need a key: it leads to this service once that has the address. */
const OWN_CONTENT = /^\/v1\/videos\/[^/]+\/content$/;

/** One row of `tasks` with the state SUCCESS or FAILURE. */
export function mapEndedTask(row: SourceRow, mapping: TaskMapping): Outcome<ImportedEndedTask> {
  const { channels, users, repeatedIds, isVideoVendor, taskHandle } = mapping;
  const task = readSourceTask(row, repeatedIds);
  if (task.sourceId >= MAX_SOURCE_ID) return skipped('its number is too large');
  if (!users.has(task.userId)) return skipped('its account does not come over');
  const made = channels.get(task.channelId) ?? [];
  const vendor = vendorOf(textOf(row, 'platform')) ?? made.find((channel) => isVideoVendor(channel.vendor))?.vendor;
  if (vendor === undefined || !isVideoVendor(vendor))
    return skipped(
      `no vendor of videos here is what made it (${toPlainText(textOf(row, 'platform'), 40) || 'unnamed'})`,
    );
  const channelIndex = made.findIndex((channel) => channel.vendor === vendor);
  const channel = made[channelIndex];
  const credentialId = channel && credentialOf(channel, task.credential);
  const model = task.model || (channel?.models.length === 1 ? (channel.models[0] ?? '') : '');
  const upstreamModel = task.upstreamModel || model;
  const job = { id: task.vendorId, model: upstreamModel, isFromText: isFromText(task) };
  const hasSucceeded = textOf(row, 'status') === 'SUCCESS';
  const finishedAt = timeOf(row, 'finish_time') ?? timeOf(row, 'updated_at');
  return mapped(
    {
      ...task,
      model,
      upstreamModel,
      vendor,
      channelIndex: channel === undefined ? undefined : channelIndex,
      credentialId,
      hasSucceeded,
      url: hasSucceeded ? urlOf(task.resultUrl || textOf(row, 'fail_reason')) : undefined,
      failReason: hasSucceeded ? '' : toPlainText(textOf(row, 'fail_reason'), MAX_REASON),
      handle: credentialId === undefined || job.id === '' ? undefined : taskHandle(vendor, job),
      createdAt: task.submittedAt ?? timeOf(row, 'created_at') ?? finishedAt,
      startedAt: timeOf(row, 'start_time'),
      finishedAt,
    },
    task.publicId === undefined ? ['its id cannot be used here, or an earlier one has it: it gets another'] : [],
  );
}

/** `platform` is the number of a channel type, and in the newest generation the name of a plugin. */
function vendorOf(platform: string): ChannelVendor | undefined {
  const type = /^\d+$/.test(platform) ? channelTypeOf('new-api', Number(platform)) : PLUGIN_VENDORS[platform];
  return type?.video?.vendor;
}

/** Old rows have the URL in the column of the reason. */
function urlOf(text: string): string | undefined {
  const url = text.length <= MAX_URL && /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url === null || OWN_CONTENT.test(url.pathname) ? undefined : url.href;
}
