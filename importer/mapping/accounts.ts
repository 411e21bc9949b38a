import type { Role } from '../../src/contract/account-fields.ts';
import { toIpRange } from '../../src/server/platform/client-ip.ts';
import { normalizeName } from '../../src/server/platform/text.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import type { SourceRow } from '../source.ts';
import {
  flagOf,
  integerOf,
  isDeleted,
  mapped,
  type Outcome,
  skipped,
  smallIntegerOf,
  splitList,
  textOf,
  timeOf,
  toPlainText,
} from './values.ts';

/** An account to create. Money is whole quota. */
export interface ImportedUser {
  readonly sourceId: number;
  /** The name as written in the source; the name here depends on the names already taken. */
  readonly sourceName: string;
  /** The preferred name. */
  readonly username: string;
  readonly displayName: string;
  readonly email: string | null;
  /** The role in the source; undefined for an unknown number. */
  readonly sourceRole: Role | undefined;
  /** The role in this service. */
  readonly role: Role;
  readonly isEnabled: boolean;
  /** bcrypt; undefined for an account without password login. */
  readonly passwordHash: string | undefined;
  /** Base32 secret of its second step; undefined if it has none. */
  readonly totpSecret?: string;
  /** Sum of both balances in the source, negative if overdrawn. */
  readonly balance: bigint;
  /** Granted to the wallet: the balance, or 0 if it was negative. */
  readonly grant: number;
  readonly group: string;
  readonly createdAt: number | undefined;
}

/** Valid names: they exclude the characters of addresses and file paths, blanks and controls. */
const USABLE_NAME = /^[\p{L}\p{N}._-]{1,30}$/u;
const EMAIL = /^[^@\s]{1,64}@[^@\s]{1,190}$/;
const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/;
/** Higher costs take minutes of CPU time per login. */
const MAX_BCRYPT_COST = 14;
/** Maximum grant to a wallet, so that sums stay exact. */
const MAX_GRANT = 9_000_000_000_000_000n;

/** Roles as the source numbers them; 0 is a guest. Any other number is no role, whatever its size. */
const ROLES: Readonly<Record<number, Role>> = { 0: 'user', 1: 'user', 10: 'admin', 100: 'root' };

/**
 * Maps one row of `users`. States are 1 enabled, 2 disabled, and 3 deleted in one-api (its model/user.go). Roles are
 * kept only with `keepRoles`: otherwise anyone with write access to the source could become an administrator here.
 *
 * `aff_quota` is a second balance: invitation credit not yet moved into `quota`.
 */
export function mapUser(row: SourceRow, keepRoles = false): Outcome<ImportedUser> {
  const status = smallIntegerOf(row, 'status', 1);
  if (isDeleted(row) || status === 3) return skipped('the account was deleted there');
  const sourceId = smallIntegerOf(row, 'id');
  const sourceName = textOf(row, 'username');
  const remarks: string[] = [];
  // As a typed name is read at login.
  const lower = normalizeName(sourceName).toLowerCase();
  const username = USABLE_NAME.test(lower) ? lower : `user-${sourceId}`;
  if (username !== sourceName) remarks.push(`the name is ${username} here`);
  const email = normalizeName(textOf(row, 'email')).toLowerCase();
  if (email !== '' && !EMAIL.test(email)) remarks.push('the e-mail is no address and was left out');
  const passwordHash = usablePassword(textOf(row, 'password'), remarks);
  const balance = integerOf(row, 'quota') + integerOf(row, 'aff_quota');
  const granted = balance < 0n ? 0n : balance > MAX_GRANT ? MAX_GRANT : balance;
  if (balance > MAX_GRANT) return skipped(`its balance of ${balance} is more than an account holds`);
  if (balance < 0n) remarks.push(`the account was overdrawn by ${-balance}, which is listed as a debt`);
  const sourceRole = sourceRoleOf(row);
  if (sourceRole === undefined)
    remarks.push(`its role ${smallIntegerOf(row, 'role')} is no rank of the source; it is an ordinary user here`);
  for (const [column, provider] of IDENTITIES)
    if (textOf(row, column) !== '')
      remarks.push(`signing in with ${provider} has no counterpart; a password is needed`);
  const group = textOf(row, 'group') || 'default';
  return mapped(
    {
      sourceId,
      sourceName,
      username,
      displayName: toPlainText(textOf(row, 'display_name'), 60) || toPlainText(sourceName, 60) || username,
      email: EMAIL.test(email) ? email : null,
      sourceRole,
      role: keepRoles ? (sourceRole ?? 'user') : 'user',
      isEnabled: status === 1,
      passwordHash,
      balance,
      grant: Number(granted),
      group,
      createdAt: timeOf(row, 'created_at'),
    },
    remarks,
  );
}

const IDENTITIES = [
  ['github_id', 'GitHub'],
  ['oidc_id', 'OIDC'],
  ['discord_id', 'Discord'],
  ['wechat_id', 'WeChat'],
  ['telegram_id', 'Telegram'],
  ['linux_do_id', 'Linux DO'],
  ['lark_id', 'Lark'],
] as const;

function usablePassword(hash: string, remarks: string[]): string | undefined {
  if (BCRYPT.test(hash) && Number(hash.slice(4, 6)) <= MAX_BCRYPT_COST) return hash;
  remarks.push('there is no password; an administrator sets one');
  return undefined;
}

/** The role of a row of `users`; undefined for an unknown number. */
export const sourceRoleOf = (row: SourceRow): Role | undefined => ROLES[smallIntegerOf(row, 'role', 1)];

/** Whether a role is that of an administrator or root. */
export const isPrivileged = (role: Role | undefined): boolean => role === 'admin' || role === 'root';

/** An API key to create. It continues to work exactly as its owner knows it, `sk-` included. */
export interface ImportedKey {
  readonly sourceId: number;
  readonly userId: number;
  readonly name: string;
  /** SHA-256 of the whole key, by which keys are looked up here. */
  readonly hash: string;
  readonly hint: string;
  /** The group it names; empty: that of its account. */
  readonly group: string;
  /** Empty: all models. */
  readonly models: readonly string[];
  /** Empty: any address. */
  readonly addresses: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  readonly createdAt: number | undefined;
  readonly lastUsedAt: number | undefined;
  /** Undefined: only the owner's balance limits the key. */
  readonly limit: { readonly quota: number; readonly used: number } | undefined;
}

const MAX_LIMIT = 1_000_000_000_000_000n;
const HINT_LENGTH = 7;
const MAX_MODELS = 200;
const MAX_MODEL_NAME = 200;

/**
 * Maps one row of `tokens`. The key is stored without its prefix. The old program cuts keys at the first `-`, so a key
 * never contains one. `remain_quota` is what the key may still spend and is meaningless if the key is unlimited.
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
  const models = modelsOf(row)?.filter((model) => model.length <= MAX_MODEL_NAME);
  // Here an empty list stands for all models.
  if (models?.length === 0) return skipped('it is limited to certain models and names none');
  if (models !== undefined && models.length > MAX_MODELS)
    return skipped(`it names ${models.length} models; at most ${MAX_MODELS} can be kept`);
  const key = `sk-${secret}`;
  return mapped(
    {
      sourceId: smallIntegerOf(row, 'id'),
      userId: smallIntegerOf(row, 'user_id'),
      name: toPlainText(textOf(row, 'name'), 100) || `key ${textOf(row, 'id')}`,
      hash: hashToken(key),
      hint: key.slice(0, HINT_LENGTH),
      group: textOf(row, 'group'),
      models: models ?? [],
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

/** Undefined: all models. */
function modelsOf(row: SourceRow): string[] | undefined {
  if (row.model_limits !== undefined)
    return flagOf(row, 'model_limits_enabled') ? splitList(textOf(row, 'model_limits')) : undefined;
  const models = splitList(textOf(row, 'models'));
  return models.length === 0 ? undefined : models;
}
