import { isDeepStrictEqual } from 'node:util';
import type { Role } from '../src/contract/account-fields.ts';
import type { ImportKind } from '../src/server/imports/tables.ts';
import type { AccountImportStore } from './import-store.ts';
import { type ImportedUser, isPrivileged } from './mapping/accounts.ts';
import type { ImportedModel } from './mapping/models.ts';
import { type Outcome, skipped, toPlainText } from './mapping/values.ts';
import type { StoredModel } from './model-store.ts';
import type { MappedRow } from './visitor.ts';

/** The outcome of a key that already exists here. */
export const KNOWN_KEY = skipped('there is a key with the same value here already');
/** The outcome of a code that already exists here. */
export const KNOWN_CODE = skipped('there is a code with the same value here already');

const KNOWN_VALUE = skipped('its value was here already when it was imported');

/** The outcome of a row that an import did not write although it could be mapped. */
export const knownOutcome = (kind: ImportKind): Outcome<never> =>
  kind === 'key' ? KNOWN_KEY : kind === 'code' ? KNOWN_CODE : KNOWN_VALUE;

/** Skips accounts that an undo of an earlier import kept, because their money would be imported twice. */
export async function withoutKept<T>(
  store: AccountImportStore,
  identities: readonly string[],
  rows: readonly MappedRow<T>[],
): Promise<MappedRow<T>[]> {
  const kept = await store.keptUsers(
    identities,
    rows.map(({ sourceId }) => sourceId),
  );
  return rows.map((row) =>
    kept.has(row.sourceId)
      ? { ...row, outcome: skipped('it is here since an earlier import, and has been used since') }
      : row,
  );
}

/** Adds a remark to accounts with a role in the source: that role, and the one here. */
export function withRankRemarks(
  row: MappedRow<ImportedUser>,
  roleOf: (user: ImportedUser) => Role | undefined,
): MappedRow<ImportedUser> {
  const { outcome } = row;
  if (outcome.kind === 'skipped' || !isPrivileged(outcome.value.sourceRole)) return row;
  const { sourceName, sourceRole } = outcome.value;
  const role = roleOf(outcome.value);
  if (role === undefined) return row;
  const remark = `${toPlainText(sourceName, 60)} is ${sourceRole} there and ${role} here${role === 'user' ? '; only --keep-roles keeps ranks' : ''}`;
  return { ...row, outcome: { ...outcome, remarks: [remark, ...outcome.remarks] } };
}

/** Adds a remark to accounts whose name here differs. */
export function withNameRemarks<
  T extends { readonly sourceId: number; readonly username: string; readonly email: string | null },
>(
  row: MappedRow<T>,
  named: ReadonlyMap<number, { readonly username: string; readonly loginEmail?: string | null }>,
): MappedRow<T> {
  const { outcome } = row;
  const user = named.get(row.sourceId);
  if (outcome.kind === 'skipped' || user === undefined) return row;
  const remarks = [...outcome.remarks];
  if (user.username !== outcome.value.username) remarks.push(`its name is taken: it is ${user.username} here`);
  if (outcome.value.email !== null && user.loginEmail === null)
    remarks.push("its e-mail is another account's, so that it signs in by its name only");
  return { ...row, outcome: { ...outcome, remarks } };
}

/** Adds a remark to a model that replaces another one here. */
export function withReplacementRemark(
  outcome: Outcome<ImportedModel>,
  before: StoredModel | undefined,
): Outcome<ImportedModel> {
  if (outcome.kind === 'skipped' || before === undefined) return outcome;
  const { vendor, kind, price } = outcome.value;
  const isSame = before.vendor === vendor && before.kind === kind && before.alias_of === null && before.enabled === 1;
  if (isSame && isDeepStrictEqual(JSON.parse(before.price ?? 'null'), price)) return outcome;
  const remark = `it replaces the model of this name here: ${before.kind} of ${before.vendor}, price ${toPlainText(before.price ?? 'none', 1_000)}`;
  return { ...outcome, remarks: [remark, ...outcome.remarks] };
}
