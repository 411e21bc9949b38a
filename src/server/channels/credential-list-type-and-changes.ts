import { isDeepStrictEqual } from 'node:util';
import type { Static } from 'typebox';
import type { changeChannel } from '../../contract/channels.ts';
import { invalidRequest } from '../platform/app-error.ts';

/** The keys of one account at the vendor, in clear: `{api_key}`, `{access_key, secret_key}`, … */
export type CredentialValues = { readonly [key: string]: unknown };

/** One of the credentials of a channel. */
export interface ChannelCredential {
  /** Unique in its channel, and never used again after a removal: tasks name the credential that submitted them. */
  readonly id: number;
  /** The administrator's own word for it; may be empty. */
  readonly name: string;
  /** A disabled one still polls the tasks it submitted. */
  readonly enabled: boolean;
  readonly values: CredentialValues;
}

/** What is sealed in the row of a channel. */
export interface CredentialList {
  readonly nextId: number;
  readonly items: readonly ChannelCredential[];
}

export const NO_CREDENTIALS: CredentialList = { nextId: 1, items: [] };

type CredentialChange = Pick<Static<(typeof changeChannel)['body']>, 'credentials' | 'credential_list'>;
type ListEntry = NonNullable<CredentialChange['credential_list']>[number];

/** A list of credentials that are all new and enabled unless said otherwise. */
export const toCredentialList = (
  all: readonly { readonly values: CredentialValues; readonly name?: string; readonly enabled?: boolean }[],
): CredentialList => ({
  nextId: all.length + 1,
  items: all.map(({ values, name = '', enabled = true }, index) => ({ id: index + 1, name, enabled, values })),
});

/**
 * What a change makes of the credentials of a channel. The single form replaces all of them by one: in place where there is one, so that a
 * key that its vendor has renewed goes on with the tasks of the old one.
 *
 * @param check throws for keys that are not those of the vendor
 * @throws AppError `invalid_request`
 */
export function changeCredentials(
  before: CredentialList,
  { credentials, credential_list: list }: CredentialChange,
  check: (values: CredentialValues) => void,
): CredentialList {
  if (credentials !== undefined && list !== undefined)
    throw invalidRequest('Give either credentials or credential_list.', 'credential_list');
  if (credentials !== undefined) {
    check(credentials);
    return replaceAll(before, credentials);
  }
  return list === undefined ? before : applyList(before, list, check);
}

function replaceAll({ nextId, items }: CredentialList, values: CredentialValues): CredentialList {
  const kept =
    items.find((item) => isDeepStrictEqual(item.values, values)) ?? (items.length === 1 ? items[0] : undefined);
  if (kept !== undefined) return { nextId, items: [{ ...kept, enabled: true, values }] };
  return { nextId: nextId + 1, items: [{ id: nextId, name: '', enabled: true, values }] };
}

function applyList(
  before: CredentialList,
  list: readonly ListEntry[],
  check: (values: CredentialValues) => void,
): CredentialList {
  let { nextId } = before;
  const items = list.map(({ id, name, credentials, enabled }): ChannelCredential => {
    if (credentials !== undefined) check(credentials);
    const stored = before.items.find((item) => item.id === id);
    if (id !== undefined && stored === undefined)
      throw invalidRequest(`The channel has no credential ${id}.`, 'credential_list');
    const values = credentials ?? stored?.values;
    if (values === undefined) throw invalidRequest('A new credential needs credentials.', 'credential_list');
    return {
      id: stored?.id ?? nextId++,
      name: name ?? stored?.name ?? '',
      enabled: enabled ?? stored?.enabled ?? true,
      values,
    };
  });
  for (const [index, item] of items.entries())
    if (items.slice(0, index).some((other) => other.id === item.id || isDeepStrictEqual(other.values, item.values)))
      throw invalidRequest('credential_list has the same credential twice.', 'credential_list');
  return { nextId, items };
}

/** Ids of credentials that a change removes. */
export const removedIds = (before: CredentialList, after: CredentialList): number[] =>
  before.items.map(({ id }) => id).filter((id) => !after.items.some((item) => item.id === id));

/** Whether any stored value stays as it was. */
export const keepsStoredValues = (before: CredentialList, after: CredentialList): boolean =>
  after.items.some(({ values }) => before.items.some((item) => item.values === values));

/** Whether any keys are new. */
export const replacesValues = (before: CredentialList, { items }: CredentialList): boolean =>
  items.some(({ values }) => !before.items.some((item) => item.values === values));

/** Shorter secrets are not hinted at: four characters would be too large a part of them. */
const MIN_HINTED_LENGTH = 20;

/** What tells a credential from the others without showing it: the account's e-mail address, or the end of its first long key. */
export function hintOf(values: CredentialValues): string {
  for (const value of Object.values(values)) {
    if (typeof value === 'string' && value.length >= MIN_HINTED_LENGTH) return `…${value.slice(-4)}`;
    const { client_email: email } = (value ?? {}) as { readonly client_email?: unknown };
    if (typeof email === 'string') return email;
  }
  return '';
}

/** How people call a credential. */
export const labelOf = ({ id, name, values }: ChannelCredential): string =>
  [name === '' ? `#${id}` : name, hintOf(values)].filter((part) => part !== '').join(' ');

/** What the audit log keeps of credentials. */
export const toAuditList = ({ items }: CredentialList) => items.map(({ id, name, enabled }) => ({ id, name, enabled }));
