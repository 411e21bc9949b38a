import { toWellFormedText } from '../../platform/text.ts';
import type { SourceRow } from '../source/source-database.ts';
import { objectOf, parseObject, smallIntegerOf, textOf, timeOf, toPlainText } from './column-values.ts';

/** What every row of `tasks` says, ended or not. */
export interface SourceTask {
  readonly sourceId: number;
  /** Id in the source, as the next two. */
  readonly userId: number;
  /** Undefined where the row does not say which key submitted it. */
  readonly tokenId: number | undefined;
  readonly channelId: number;
  /** What its owner calls it; undefined where that is no id here, or an earlier row there has the same. */
  readonly publicId: string | undefined;
  /** The vendor's id of it; empty where it is not in the row. */
  readonly vendorId: string;
  /** The key it was submitted with, which the row has for Gemini and Vertex only. */
  readonly credential: string | undefined;
  /** Empty where the row does not say. */
  readonly model: string;
  readonly upstreamModel: string;
  readonly action: string;
  readonly prompt: string;
  /** Where the file is, as the newer generations note it; empty in the others. */
  readonly resultUrl: string;
  /** Unix milliseconds. */
  readonly submittedAt: number | undefined;
  /** Whole quota; taken from the wallet there already, and 0 where it was given back. */
  readonly paid: number;
}

/** Public ids that several rows have, with the first of these rows: `task_id` is not unique in the source. */
export type RepeatedIds = ReadonlyMap<string, number>;

/** The newest generations give tasks ids of their own; in older ones a row has the vendor's. */
const OWN_ID = /^task_[A-Za-z0-9]{32}$/;
const PUBLIC_ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const ACTION = /^[A-Za-z_]{1,40}$/;
const MAX_PROMPT = 20_000;
const MAX_MODEL = 200;

/** The columns that are read; the others, the vendor's last answer among them, may be large. */
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

export function readSourceTask(row: SourceRow, repeated: RepeatedIds): SourceTask {
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
    tokenId: typeof secrets.token_id === 'number' ? secrets.token_id : undefined,
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
