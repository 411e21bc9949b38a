import type { SourceRow } from '../source/source-database.ts';
import type { ChannelType } from './channel-types.ts';
import { objectOf, parseObject, textOf } from './column-values.ts';

type Credentials = Readonly<Record<string, unknown>>;

/** One of the keys of a row. */
export interface ChannelKey {
  readonly text: string;
  /** Of a row with several keys: whether this one was in use. */
  readonly isEnabled: boolean;
}

/**
 * The keys of a row. Only where `channel_info.is_multi_key` says so are there several: the elements of a JSON list, or the
 * lines; otherwise the whole text is one, line ends included, such as a service account on many lines.
 */
export function keysOf(row: SourceRow): ChannelKey[] {
  const text = textOf(row, 'key');
  const info = objectOf(row, 'channel_info');
  if (info?.is_multi_key !== true) return text === '' ? [] : [{ text, isEnabled: true }];
  const states = (info.multi_key_status_list ?? {}) as Readonly<Record<string, unknown>>;
  return splitKeys(text).map((key, index) => ({ text: key, isEnabled: (states[String(index)] ?? 1) === 1 }));
}

function splitKeys(text: string): string[] {
  const elements = text.startsWith('[') ? parseList(text) : undefined;
  if (elements !== undefined)
    return elements
      .map((each) => (typeof each === 'string' ? each.trim() : JSON.stringify(each)))
      .filter((key) => key !== '');
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A key as credentials of a vendor here; undefined where it does not have that form. */
export function toCredentials(key: string, { keys }: ChannelType, row: SourceRow): Credentials | undefined {
  if (keys === 'pair') return toPair(key);
  if (keys === 'service-account') return toServiceAccount(key, row);
  return /[\r\n|]/.test(key) || key === '' ? undefined : { api_key: key };
}

function toPair(key: string): Credentials | undefined {
  const [accessKey = '', secretKey = '', ...rest] = key.split('|').map((part) => part.trim());
  return accessKey === '' || secretKey === '' || rest.length > 0
    ? undefined
    : { access_key: accessKey, secret_key: secretKey };
}

function toServiceAccount(key: string, row: SourceRow): Credentials | undefined {
  const account = parseObject(key);
  if (account === undefined || typeof account.project_id !== 'string') return undefined;
  if (typeof account.client_email !== 'string' || typeof account.private_key !== 'string') return undefined;
  return { service_account: account, project: account.project_id, location: regionOf(textOf(row, 'other')) };
}

/** `other` of a Vertex row: a region, or an object of regions by model. */
function regionOf(text: string): string {
  const byModel = parseObject(text);
  if (byModel === undefined) return text === '' ? 'global' : text;
  return typeof byModel.default === 'string' ? byModel.default : 'global';
}
