import { isObject } from '../../src/contract/objects.ts';
import { MAX_MULTIPLIER_DECIMALS } from '../../src/contract/pricing.ts';
import { normalizeCode } from '../../src/server/plans/codes.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import type { SourceRow } from '../source.ts';
import {
  flagOf,
  integerOf,
  isDeleted,
  mapped,
  type Outcome,
  parseList,
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
  const ratios = readGroupRatios(options);
  const codes = new Set<string>();
  return groups.flatMap((group) => {
    const own = ratios.of(group, group);
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
      group === DEFAULT_GROUP ? [NEW_ACCOUNTS] : [],
      serving.length === 0 && channels.length > 0 ? ['no channel of it came over; all channels serve it here'] : [],
    ].flat();
    const code = codeOf(group, codes);
    codes.add(code);
    const value = {
      group,
      code,
      name: toPlainText(group, 100) || code,
      factor,
      channels: isWhole ? [] : serving,
    };
    return [[group, mapped(value, remarks)] as const];
  });
}

/** Group of accounts and channels that name none. */
export const DEFAULT_GROUP = 'default';
/** Group of keys that try the groups of the option `AutoGroups` in turn. */
const AUTO_GROUP = 'auto';
const NEW_ACCOUNTS = 'accounts registered later do not get its plan: set factor and channels of the built-in plan';

/** Price factors of groups. */
interface GroupRatios {
  /** The factor that an account pays with a key of a group; of any type, because options are free text. */
  of(accountGroup: string, usedGroup: string): unknown;
  /** Groups with a factor. */
  readonly groups: readonly string[];
  /** Groups with a factor of their own for accounts of a group. */
  specialOf(accountGroup: string): readonly string[];
}

function readGroupRatios(options: ReadonlyMap<string, string>): GroupRatios {
  const ratios = parseObject(options.get('GroupRatio') ?? '') ?? {};
  const special = parseObject(options.get('GroupGroupRatio') ?? '') ?? {};
  return {
    of: (account, used) => ownValue(ownValue(special, account), used) ?? ownValue(ratios, used) ?? 1,
    groups: Object.keys(ratios),
    specialOf(account) {
      const factors = ownValue(special, account);
      return isObject(factors) ? Object.keys(factors) : [];
    },
  };
}

/** Accounts and keys of a source, by their groups. */
export interface GroupUse {
  /** Groups that accounts are in. */
  readonly ofAccounts: readonly string[];
  /** Number of keys by the group they name. */
  readonly keys: ReadonlyMap<string, number>;
}

/** Describes groups that become no plan and had an effect, and factors that no plan has. */
export function describeOtherGroups(
  { ofAccounts, keys }: GroupUse,
  options: ReadonlyMap<string, string>,
  channels: readonly GroupedChannel[],
): (readonly [group: string, text: string])[] {
  const ratios = readGroupRatios(options);
  const servingOf = (group: string) => channels.filter(({ groups }) => groups.includes(group)).length;
  const unserved = ofAccounts
    .filter((group) => ratios.of(group, group) === 1 && servingOf(group) === 0 && channels.length > 0)
    .map(
      (group) =>
        [group, 'no channel of it came over; here its accounts need no plan, and all channels serve them'] as const,
    );
  const special = ofAccounts.flatMap((group) =>
    ratios
      .specialOf(group)
      .filter((used) => used !== group && ratios.of(group, used) !== ratios.of(group, group))
      .map(
        (used) =>
          [
            group,
            `with keys of the group ${toPlainText(used, 60)} its accounts paid ${describeFactor(ratios.of(group, used))}; here the factor of their plan counts`,
          ] as const,
      ),
  );
  const named = new Set([...ratios.groups, ...channels.flatMap(({ groups }) => groups), ...keys.keys()]);
  const unheld = [...named].filter((group) => !ofAccounts.includes(group) && group !== AUTO_GROUP).sort();
  const without = unheld.flatMap((group) => {
    const [factor, serving, users] = [ratios.of(group, group), servingOf(group), keys.get(group) ?? 0];
    const isPlain = factor === 1 && (serving === 0 || serving === channels.length) && users === 0;
    const facts = `${describeFactor(factor)}, ${serving} of ${channels.length} channels, named by ${users} keys`;
    return isPlain ? [] : [[group, `no account is in it, so that it becomes no plan (${facts})`] as const];
  });
  return [...unserved, ...special, ...without];
}

/** How the group of a key differs from that of its account; undefined if it does not. */
export function describeKeyGroup(
  group: string,
  accountGroup: string,
  options: ReadonlyMap<string, string>,
): string | undefined {
  if (group === '' || group === accountGroup) return undefined;
  const here = "here its owner's plan counts";
  if (group !== AUTO_GROUP)
    return `it used the group ${toPlainText(group, 60)} (${describeFactor(readGroupRatios(options).of(accountGroup, group))}); ${here}`;
  const tried = (parseList(options.get('AutoGroups') ?? '') ?? []).map((each) => toPlainText(String(each), 60));
  return `it tried the groups of the setting AutoGroups in turn${tried.length === 0 ? '' : ` (${tried.join(', ')})`}; ${here}`;
}

const describeFactor = (factor: unknown): string => `prices × ${toPlainText(JSON.stringify(factor), 40)}`;

/** Reads own properties only, because a group may be named like a property of every object, such as `constructor`. */
const ownValue = (map: unknown, name: string): unknown =>
  isObject(map) && Object.hasOwn(map, name) ? map[name] : undefined;

/** Codes have no capital letters; groups may differ only in these. */
function codeOf(group: string, taken: ReadonlySet<string>): string {
  const plain = `group-${group.toLowerCase()}`;
  return /^[a-z0-9_-]{1,56}$/.test(plain) && !taken.has(plain) ? plain : `group-${hashToken(group).slice(0, 12)}`;
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

/**
 * Maps one row of `redemptions`: status 1 unused, 2 disabled, 3 used; `expired_time` 0 = never. Veloera calls that
 * column `valid_until`, and has codes that are valid later or for several accounts.
 */
export function mapRedemptionCode(row: SourceRow, now: number): Outcome<ImportedCode> {
  if (isDeleted(row)) return skipped('the code was deleted there');
  const status = smallIntegerOf(row, 'status', 1);
  if (status !== 1) return skipped(status === 3 ? 'the code was used' : 'the code was disabled there');
  if (flagOf(row, 'is_gift')) return skipped('several accounts may use the code; such codes have no counterpart');
  if ((timeOf(row, 'valid_from') ?? 0) > now) return skipped('the code is not valid yet');
  const expiresAt = timeOf(row, 'expired_time') ?? timeOf(row, 'valid_until');
  if (expiresAt !== undefined && expiresAt <= now) return skipped('the code has expired');
  const code = textOf(row, 'key');
  const quota = integerOf(row, 'quota');
  const others = code.normalize('NFKC').replace(/[0-9a-z]/gi, '');
  // Codes are compared by these only: a code of other letters would be the same as one of none.
  if (code !== '' && (normalizeCode(code) === '' || /[\p{L}\p{N}]/u.test(others)))
    return skipped('the code has characters that codes here do not have');
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
