import { withIdRemarks } from './ended-tasks.ts';
import { type AccountImportStore, candidatesOf, nameUsers } from './import-store.ts';
import type { ImportTarget } from './import-target.ts';
import { ModelImportStore, type StoredModel } from './model-store.ts';
import { KNOWN_CODE, KNOWN_KEY, withNameRemarks, withoutKept, withRankRemarks } from './row-remarks.ts';
import { TaskPaymentImportStore } from './task-store.ts';
import { type ImportVisitor, type MappedRow, valuesOf } from './visitor.ts';

/** Creates a visitor that writes nothing and reports the outcome of each row. */
export function dryRunVisitor(
  store: AccountImportStore,
  target: Pick<ImportTarget, 'sealCode'>,
  identities: readonly string[],
): ImportVisitor {
  const given = { usernames: new Set<string>(), emails: new Set<string>() };
  const codes = new Set<string>();
  return {
    channels: async () => {},
    async models(rows) {
      const here = new Map<string, StoredModel>();
      for (const [name] of rows) {
        const model = await new ModelImportStore().model(store.kysely, name);
        if (model !== undefined) here.set(name, model);
      }
      return here;
    },
    groups: async () => {},
    async users(rows) {
      const fresh = await withoutKept(store, identities, rows);
      const users = fresh.flatMap(({ outcome }) => (outcome.kind === 'mapped' ? [outcome.value] : []));
      const taken = await store.takenNames(
        users.flatMap(candidatesOf),
        users.flatMap(({ email }) => email ?? []),
      );
      for (const name of taken.usernames) given.usernames.add(name);
      for (const email of taken.emails) given.emails.add(email);
      const named = new Map(nameUsers(users, given).map((user) => [user.sourceId, user]));
      return fresh.map((row) => withRankRemarks(withNameRemarks(row, named), ({ role }) => role));
    },
    async keys(rows) {
      const known = await store.knownHashes(valuesOf(rows).map(({ hash }) => hash));
      return rows.map((row) => (isOneOf(row, ({ hash }) => known.has(hash)) ? { ...row, outcome: KNOWN_KEY } : row));
    },
    async codes(rows) {
      const sealed = new Map(valuesOf(rows).map(({ code }) => [code, target.sealCode(code).hash]));
      for (const hash of await store.knownCodes([...sealed.values()])) codes.add(hash);
      const isTaken = ({ code }: { readonly code: string }): boolean => {
        const hash = sealed.get(code) ?? '';
        const taken = codes.has(hash);
        codes.add(hash);
        return taken;
      };
      return rows.map((row) => (isOneOf(row, isTaken) ? { ...row, outcome: KNOWN_CODE } : row));
    },
    endedTasks: async (rows) =>
      withIdRemarks(rows, await new TaskPaymentImportStore().takenPublicIds(store.kysely, valuesOf(rows))),
    tasks: async (rows) => [...rows],
  };
}

const isOneOf = <T>({ outcome }: MappedRow<T>, holds: (value: T) => boolean): boolean =>
  outcome.kind === 'mapped' && holds(outcome.value);
