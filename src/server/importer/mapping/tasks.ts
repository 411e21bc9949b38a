import type { ChannelVendor } from '../../channels/channel-directory.ts';
import type { SourceRow } from '../source/source-database.ts';
import type { ImportedChannel } from './channels.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';
import { integerOf, objectOf, parseObject, smallIntegerOf, textOf, timeOf, toPlainText } from './values.ts';

/** A video that was begun there and is polled on here. */
export interface ImportedTask {
  readonly sourceId: number;
  /** Id in the source, as the next two. */
  readonly userId: number;
  /** Undefined where the row does not say which key submitted it. */
  readonly tokenId: number | undefined;
  readonly channelId: number;
  /** Which of the channels that the row became. */
  readonly channelIndex: number;
  readonly credentialId: number;
  readonly vendor: ChannelVendor;
  /** What its owner calls it; undefined where that is no id here. */
  readonly publicId: string | undefined;
  readonly model: string;
  readonly upstreamModel: string;
  readonly action: string;
  readonly prompt: string;
  readonly hasStarted: boolean;
  /** Unix milliseconds. */
  readonly submittedAt: number | undefined;
  /** Whole quota; taken from the wallet there already. */
  readonly paid: number;
  /** What its vendor's adapter polls with. */
  readonly handle: unknown;
}

export interface TaskMapping {
  /** Channels that come over, by their rows' ids. */
  readonly channels: ReadonlyMap<number, readonly ImportedChannel[]>;
  /** Source ids of the accounts that come over. */
  readonly users: ReadonlySet<number>;
  isVideoVendor(vendor: ChannelVendor): boolean;
  /** The adapter's handle of a job, by the vendor's id of it; undefined where it cannot be polled. */
  taskHandle(vendor: ChannelVendor, job: { id: string; model: string; isFromText: boolean }): unknown;
}

/** The newest generations give tasks ids of their own; in older ones a row has the vendor's. */
const OWN_ID = /^task_[A-Za-z0-9]{32}$/;
const PUBLIC_ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const ACTION = /^[A-Za-z_]{1,40}$/;

/** One unfinished row of `tasks`. */
export function mapTask(
  row: SourceRow,
  { channels, users, isVideoVendor, taskHandle }: TaskMapping,
): Outcome<ImportedTask> {
  const paid = smallIntegerOf(row, 'quota');
  const left = (why: string): Outcome<ImportedTask> =>
    skipped(
      `account ${textOf(row, 'user_id')} paid ${integerOf(row, 'quota')} for ${textOf(row, 'task_id')}, which is not finished: ${why}; let it finish there first`,
    );
  const userId = smallIntegerOf(row, 'user_id');
  if (!users.has(userId)) return left('its account does not come over');
  if (textOf(row, 'progress') === '100%') return left('it is not polled there any more');
  const channelId = smallIntegerOf(row, 'channel_id');
  const made = channels.get(channelId) ?? [];
  const channelIndex = made.findIndex(({ vendor }) => isVideoVendor(vendor));
  const channel = made[channelIndex];
  if (channel === undefined) return left('its channel does not come over, or makes no videos here');
  const secrets = objectOf(row, 'private_data') ?? {};
  const publicId = textOf(row, 'task_id');
  const id =
    typeof secrets.upstream_task_id === 'string' ? secrets.upstream_task_id : OWN_ID.test(publicId) ? '' : publicId;
  if (id === '') return left("its vendor's id is not in the database");
  const credentialId = credentialOf(channel, secrets.key);
  if (credentialId === undefined) return left('which of the keys of its channel submitted it is not in the database');
  const properties = parseObject(textOf(row, 'properties')) ?? {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const model = text(properties.origin_model_name) || (channel.models[0] ?? '');
  const upstreamModel = text(properties.upstream_model_name) || model;
  const action = textOf(row, 'action');
  const handle = taskHandle(channel.vendor, { id, model: upstreamModel, isFromText: /^text/i.test(action) });
  if (handle === undefined) return left('its vendor cannot be polled by what is in the database');
  const tokenId = typeof secrets.token_id === 'number' ? secrets.token_id : undefined;
  return mapped({
    sourceId: smallIntegerOf(row, 'id'),
    userId,
    tokenId,
    channelId,
    channelIndex,
    credentialId,
    vendor: channel.vendor,
    publicId: PUBLIC_ID.test(publicId) ? publicId : undefined,
    model: toPlainText(model, 200),
    upstreamModel: toPlainText(upstreamModel, 200),
    action: ACTION.test(action) ? action : 'generate',
    prompt: text(properties.input).slice(0, 20_000).toWellFormed().replaceAll('\0', ''),
    hasStarted: textOf(row, 'status') === 'IN_PROGRESS',
    submittedAt: timeOf(row, 'submit_time'),
    paid: Math.max(0, paid),
    handle,
  });
}

/** Credentials are numbered in their order. A row names its key for Gemini and Vertex only. */
function credentialOf({ credentials }: ImportedChannel, key: unknown): number | undefined {
  if (credentials.length === 1) return 1;
  const index = credentials.findIndex(({ values }) => typeof key === 'string' && values.api_key === key.trim());
  return index === -1 ? undefined : index + 1;
}
