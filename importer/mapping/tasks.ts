import type { ChannelVendor } from '../../src/server/channels/tables.ts';
import { toWellFormedText } from '../../src/server/platform/text.ts';
import type { SourceRow } from '../source.ts';
import { channelTypeOf, type ImportedChannel, PLUGIN_VENDORS } from './channels.ts';
import {
  integerOf,
  mapped,
  type Outcome,
  objectOf,
  parseObject,
  skipped,
  smallIntegerOf,
  textOf,
  timeOf,
  toPlainText,
} from './values.ts';

/** A video started in the source and polled here. */
export interface ImportedTask extends SourceTask {
  /** Index of its channel among those its row became. */
  readonly channelIndex: number;
  readonly credentialId: number;
  readonly vendor: ChannelVendor;
  readonly hasStarted: boolean;
  /** The handle with which its vendor's adapter polls. */
  readonly handle: unknown;
}

/** Lookups for mapping tasks. */
export interface TaskMapping {
  /** Imported channels, by their rows' ids. */
  readonly channels: ReadonlyMap<number, readonly ImportedChannel[]>;
  /** Source ids of imported accounts. */
  readonly users: Pick<ReadonlyMap<number, unknown>, 'has'>;
  readonly repeatedIds: RepeatedIds;
  isVideoVendor(vendor: ChannelVendor): boolean;
  /** The adapter's handle of a job, from the vendor's id of the job; undefined if it cannot be polled. */
  taskHandle(vendor: ChannelVendor, job: { id: string; model: string; isFromText: boolean }): unknown;
}

/** Maps one unfinished row of `tasks`. */
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
  if (textOf(row, 'progress') === '100%') return left('it is no longer polled there');
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

const isFromText = ({ action }: Pick<SourceTask, 'action'>): boolean => /^text/i.test(action);

/** Index of the credential that submitted a task. Undefined: any of several may have submitted it. */
function credentialOf({ credentials }: ImportedChannel, key: string | undefined): number | undefined {
  if (credentials.length === 1) return 1;
  const index = credentials.findIndex(({ values }) => key !== undefined && values.api_key === key);
  return index === -1 ? undefined : index + 1;
}

/** A video that ended in the source: history, including its cost. */
export interface ImportedEndedTask extends SourceTask {
  readonly vendor: ChannelVendor;
  /** Index of its channel among those its row became; undefined: its channel is not imported. */
  readonly channelIndex: number | undefined;
  /** Undefined if any of several may have submitted it. */
  readonly credentialId: number | undefined;
  readonly hasSucceeded: boolean;
  /** URL of the file according to the source; undefined if not stated. */
  readonly url: string | undefined;
  /** Empty unless the task failed. */
  readonly failReason: string;
  /** The handle with which its vendor's adapter requests a fresh URL; undefined if the source lacks the data. */
  readonly handle: unknown;
  /** Unix milliseconds, like the next two; undefined if not in the row. */
  readonly createdAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
}

/** Maximum id that fits into the numbers of tasks here. */
const MAX_SOURCE_ID = 2 ** 40;
const MAX_REASON = 2_000;
const MAX_URL = 4_096;
/**
 * The old program's own address of a file, for vendors whose files require a key. Once this service takes over the host
 * name, the address would lead to this service itself.
 */
const OWN_CONTENT = /^\/v1\/videos\/[^/]+\/content$/;

/** Maps one row of `tasks` with the state SUCCESS or FAILURE. */
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

/** The common data of ended and unfinished rows of `tasks`. */
export interface SourceTask {
  readonly sourceId: number;
  /** Id in the source, like the next two. */
  readonly userId: number;
  /** Undefined if the row does not state which key submitted the task. */
  readonly tokenId: number | undefined;
  readonly channelId: number;
  /** The id its owner uses; undefined if it is not a valid id here, or an earlier row has the same. */
  readonly publicId: string | undefined;
  /** The vendor's id of the task; empty if not in the row. */
  readonly vendorId: string;
  /** The key that submitted the task, which only rows of Gemini and Vertex contain. */
  readonly credential: string | undefined;
  /** Empty if not in the row. */
  readonly model: string;
  readonly upstreamModel: string;
  readonly action: string;
  readonly prompt: string;
  /** URL of the file, as stored by the newer generations; empty in the others. */
  readonly resultUrl: string;
  /** Unix milliseconds. */
  readonly submittedAt: number | undefined;
  /** Whole quota; already deducted from the wallet in the source, and 0 if refunded. */
  readonly paid: number;
}

/** Public ids of several rows, with the first of these rows: `task_id` is not unique in the source. */
type RepeatedIds = ReadonlyMap<string, number>;

/** The newest generations assign their own task ids; rows of older ones have the vendor's. */
const OWN_ID = /^task_[A-Za-z0-9]{32}$/;
const PUBLIC_ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const ACTION = /^[A-Za-z_]{1,40}$/;
const MAX_PROMPT = 20_000;
const MAX_MODEL = 200;

/** The columns to read; others, such as the vendor's last response, may be large. */
export const TASK_COLUMNS = [
  'id',
  'task_id',
  'platform',
  'user_id',
  'channel_id',
  'quota',
  'action',
  'status',
  'progress',
  'fail_reason',
  'submit_time',
  'start_time',
  'finish_time',
  'created_at',
  'updated_at',
  'properties',
  'private_data',
] as const;

function readSourceTask(row: SourceRow, repeated: RepeatedIds): SourceTask {
  const sourceId = smallIntegerOf(row, 'id');
  const secrets = objectOf(row, 'private_data') ?? {};
  const properties = parseObject(textOf(row, 'properties')) ?? {};
  const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
  const publicId = textOf(row, 'task_id');
  const isUsable = PUBLIC_ID.test(publicId) && (repeated.get(publicId) ?? sourceId) === sourceId;
  const model = toPlainText(text(properties.origin_model_name), MAX_MODEL);
  const action = textOf(row, 'action');
  return {
    sourceId,
    userId: smallIntegerOf(row, 'user_id'),
    tokenId: Number.isSafeInteger(secrets.token_id) ? (secrets.token_id as number) : undefined,
    channelId: smallIntegerOf(row, 'channel_id'),
    publicId: isUsable ? publicId : undefined,
    vendorId: text(secrets.upstream_task_id) || (OWN_ID.test(publicId) ? '' : publicId),
    credential: text(secrets.key) || undefined,
    model,
    upstreamModel: toPlainText(text(properties.upstream_model_name), MAX_MODEL) || model,
    action: ACTION.test(action) ? action : 'generate',
    prompt: toWellFormedText(text(properties.input).slice(0, MAX_PROMPT)),
    resultUrl: text(secrets.result_url),
    submittedAt: timeOf(row, 'submit_time'),
    paid: Math.max(0, smallIntegerOf(row, 'quota')),
  };
}
