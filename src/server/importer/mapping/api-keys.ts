import { toIpRange } from '../../platform/client-ip.ts';
import { hashToken } from '../../platform/tokens.ts';
import type { SourceRow } from '../source/source-database.ts';
import {
  flagOf,
  integerOf,
  isDeleted,
  smallIntegerOf,
  splitList,
  textOf,
  timeOf,
  toPlainText,
} from './column-values.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';

/** An API key as it is to be made: it goes on working as its owner has it, `sk-` included. */
export interface ImportedKey {
  readonly sourceId: number;
  readonly userId: number;
  readonly name: string;
  /** SHA-256 of the whole key, as keys are looked up here. */
  readonly hash: string;
  readonly hint: string;
  /** Empty: all. */
  readonly models: readonly string[];
  /** Empty: from anywhere. */
  readonly addresses: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  readonly createdAt: number | undefined;
  readonly lastUsedAt: number | undefined;
  /** Undefined: only the balance of its owner limits it. */
  readonly limit: { readonly quota: number; readonly used: number } | undefined;
}

const MAX_LIMIT = 1_000_000_000_000_000n;
const HINT_LENGTH = 7;
const MAX_MODELS = 200;
const MAX_MODEL_NAME = 200;

/**
 * One row of `tokens`. The key is stored without its prefix, and the old program cuts what it is given at the first `-`, so
 * that a key never has one. `remain_quota` is what the key may still spend and means nothing when it is unlimited.
 */
export function mapKey(row: SourceRow): Outcome<ImportedKey> {
  if (isDeleted(row)) return skipped('the key was deleted there');
  const secret = textOf(row, 'key').replace(/^sk-/, '');
  if (!/^[A-Za-z0-9_]{8,190}$/.test(secret)) return skipped('the key is empty or has a form that no client can send');
  const status = smallIntegerOf(row, 'status', 1);
  if (status === 2) return skipped('the key was disabled there');
  const remarks: string[] = [];
  const ranges = splitList(`${textOf(row, 'allow_ips')}\n${textOf(row, 'subnet')}`.replaceAll(' ', '\n'));
  const addresses = ranges.map(toIpRange).filter((range) => range !== undefined);
  if (ranges.length > addresses.length) {
    if (addresses.length === 0)
      return skipped('none of its allowed addresses can be read, and without them it would work from anywhere');
    remarks.push(`${ranges.length - addresses.length} of its allowed addresses cannot be read and are left out`);
  }
  const models = modelsOf(row).filter((model) => model.length <= MAX_MODEL_NAME);
  if (models.length > MAX_MODELS) return skipped(`it names ${models.length} models; at most ${MAX_MODELS} can be kept`);
  if (textOf(row, 'group') !== '')
    remarks.push(`it used the group ${textOf(row, 'group')}; here its owner's plan counts`);
  const key = `sk-${secret}`;
  return mapped(
    {
      sourceId: smallIntegerOf(row, 'id'),
      userId: smallIntegerOf(row, 'user_id'),
      name: toPlainText(textOf(row, 'name'), 100) || `key ${textOf(row, 'id')}`,
      hash: hashToken(key),
      hint: key.slice(0, HINT_LENGTH),
      models,
      addresses,
      expiresAt: status === 3 ? (timeOf(row, 'expired_time') ?? 1000) : timeOf(row, 'expired_time'),
      createdAt: timeOf(row, 'created_time'),
      lastUsedAt: timeOf(row, 'accessed_time'),
      limit: flagOf(row, 'unlimited_quota') ? undefined : limitOf(row),
    },
    remarks,
  );
}

function limitOf(row: SourceRow): NonNullable<ImportedKey['limit']> {
  const used = clamp(integerOf(row, 'used_quota'));
  const left = clamp(integerOf(row, 'remain_quota'));
  return { quota: Number(clamp(used + left)), used: Number(used) };
}

const clamp = (value: bigint): bigint => (value < 0n ? 0n : value > MAX_LIMIT ? MAX_LIMIT : value);

function modelsOf(row: SourceRow): string[] {
  if (row.model_limits !== undefined)
    return flagOf(row, 'model_limits_enabled') ? splitList(textOf(row, 'model_limits')) : [];
  return splitList(textOf(row, 'models'));
}
