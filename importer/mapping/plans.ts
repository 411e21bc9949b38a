import { MAX_MULTIPLIER_DECIMALS } from '../../src/contract/pricing.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import type { SourceRow } from '../source.ts';
import {
  integerOf,
  isDeleted,
  mapped,
  type Outcome,
  parseObject,
  skipped,
  smallIntegerOf,
  textOf,
  timeOf,
  toPlainText,
} from './values.ts';

/** A group of accounts, as the plan it becomes here. */
export interface ImportedGroup {
  /** The group's name in the source. */
  readonly group: string;
  readonly code: string;
  readonly name: string;
  /** Factor of its prices. */
  readonly factor: number;
  /** Source ids of the channels that serve it; empty: all. */
  readonly channels: readonly number[];
}

/** An imported channel, and the groups that may use it. */
export interface GroupedChannel {
  readonly sourceId: number;
  readonly groups: readonly string[];
}

const MAX_FACTOR = 1_000;
const MAX_CHANNELS = 500;

/**
 * Maps the groups of accounts whose prices or channels differ from the default; the others need no plan. An account
 * pays by its own group's `GroupGroupRatio` if stated, else by `GroupRatio`, else the list price
 * (relay/helper/price.go).
 */
export function mapGroupsToPlans(
  groups: readonly string[],
  options: ReadonlyMap<string, string>,
  channels: readonly GroupedChannel[],
): (readonly [group: string, outcome: Outcome<ImportedGroup>])[] {
  const ratios = parseObject(options.get('GroupRatio') ?? '') ?? {};
  const special = parseObject(options.get('GroupGroupRatio') ?? '') ?? {};
  return groups.flatMap((group) => {
    const own = ownValue(ownValue(special, group), group) ?? ownValue(ratios, group) ?? 1;
    const serving = channels.filter((channel) => channel.groups.includes(group)).map(({ sourceId }) => sourceId);
    const isWhole = serving.length === channels.length || serving.length === 0;
    if (own === 1 && isWhole) return [];
    if (typeof own !== 'number' || !(own >= 0 && own <= MAX_FACTOR))
      return [
        [group, skipped(`its prices were multiplied by ${JSON.stringify(own)}, which cannot be carried over`)] as const,
      ];
    if (!isWhole && serving.length > MAX_CHANNELS)
      return [[group, skipped(`more than ${MAX_CHANNELS} channels serve it, and not all`)] as const];
    const factor = Number(own.toFixed(MAX_MULTIPLIER_DECIMALS));
    const remarks = [
      factor === own ? [] : [`its factor ${own} was rounded to ${factor}`],
      serving.length === 0 && channels.length > 0 ? ['no channel of it came over; all channels serve it here'] : [],
    ].flat();
    const value = {
      group,
      code: codeOf(group),
      name: toPlainText(group, 100) || codeOf(group),
      factor,
      channels: isWhole ? [] : serving,
    };
    return [[group, mapped(value, remarks)] as const];
  });
}

/** Reads own properties only, because a group may be named like a property of every object, such as `constructor`. */
const ownValue = (map: unknown, name: string): unknown =>
  typeof map === 'object' && map !== null && Object.hasOwn(map, name)
    ? (map as Readonly<Record<string, unknown>>)[name]
    : undefined;

function codeOf(group: string): string {
  const plain = group.toLowerCase();
  return `group-${/^[a-z0-9_-]{1,50}$/.test(plain) ? plain : hashToken(group).slice(0, 12)}`;
}

/** A redemption code that has not been used. */
export interface ImportedCode {
  readonly sourceId: number;
  /** The code in clear, as issued. */
  readonly code: string;
  readonly quota: number;
  readonly name: string;
  readonly expiresAt: number | undefined;
  readonly createdAt: number | undefined;
}

const MAX_QUOTA = 1_000_000_000_000_000n;

/** Maps one row of `redemptions`: status 1 unused, 2 disabled, 3 used; `expired_time` 0 = never. */
export function mapRedemptionCode(row: SourceRow, now: number): Outcome<ImportedCode> {
  if (isDeleted(row)) return skipped('the code was deleted there');
  const status = smallIntegerOf(row, 'status', 1);
  if (status !== 1) return skipped(status === 3 ? 'the code was used' : 'the code was disabled there');
  const expiresAt = timeOf(row, 'expired_time');
  if (expiresAt !== undefined && expiresAt <= now) return skipped('the code has expired');
  const code = textOf(row, 'key');
  const quota = integerOf(row, 'quota');
  if (code === '' || quota <= 0n || quota > MAX_QUOTA) return skipped('the code is empty, or is worth nothing');
  return mapped({
    sourceId: smallIntegerOf(row, 'id'),
    code,
    quota: Number(quota),
    name: toPlainText(textOf(row, 'name'), 100),
    expiresAt,
    createdAt: timeOf(row, 'created_time'),
  });
}
