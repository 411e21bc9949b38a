import type { Role } from '../src/contract/account-fields.ts';
import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Database } from '../src/server/platform/db/database.ts';
import type { Tables } from '../src/server/tables.ts';
import { findWrongEndedTasks } from './ended-tasks.ts';
import { type AccountImportStore, grantRef, NO_LOGIN_EMAIL } from './import-store.ts';
import type { ImportedUser } from './mapping/accounts.ts';
import {
  type ModelImportStore,
  type PlanImportStore,
  replacedModels,
  type StoredGroupPlan,
  type StoredModel,
} from './model-store.ts';
import { knownOutcome, withNameRemarks, withRankRemarks } from './row-remarks.ts';
import { type TaskPaymentImportStore, taskGrantRef, taskIdOf } from './task-store.ts';
import { isSameModel } from './undo.ts';
import { type ImportVisitor, type MappedRow, valuesOf } from './visitor.ts';

/** A difference between the source and the imported data. */
export interface Discrepancy {
  readonly kind: ImportKind | 'total' | 'ledger';
  /** Id in the source, or the name of the sum. */
  readonly source: string;
  readonly text: string;
}

interface VerifierDependencies {
  readonly store: AccountImportStore;
  readonly verifyStore: VerifyStore;
  readonly catalog: ModelImportStore;
  readonly groups: PlanImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly importId: number;
}

/** Compares every row of the source with the imported data and collects differences; changes nothing. */
export class Verifier implements ImportVisitor {
  /** Differences that ordinary use of the service cannot explain. */
  readonly discrepancies: Discrepancy[] = [];
  /** Differences that owners may have caused since. */
  readonly changes: Discrepancy[] = [];
  readonly #dependencies: VerifierDependencies;
  /** Plans of groups, by their names in the source. */
  #plans: Awaited<ReturnType<AccountImportStore['named']>> = new Map();

  constructor(dependencies: VerifierDependencies) {
    this.#dependencies = dependencies;
  }

  readonly channels: ImportVisitor['channels'] = async (rows) => {
    const { store, verifyStore, importId } = this.#dependencies;
    await this.#decided('channel', rows);
    const sourceIds = new Set(rows.map(({ sourceId }) => sourceId));
    const made = (await store.channels(importId)).filter(({ sourceId }) => sourceIds.has(sourceId));
    const found = await verifyStore.channels(made.map(({ id }) => id));
    for (const { id, sourceId, updatedAt } of made)
      if (found.get(id) !== updatedAt)
        this.#change('channel', String(sourceId), `channel ${id} was ${found.has(id) ? 'changed' : 'removed'} since`);
  };

  readonly models: ImportVisitor['models'] = async (rows) => {
    const { store, catalog, importId } = this.#dependencies;
    const known = await store.named(importId, 'model');
    for (const [name] of rows) if (!known.has(name)) this.#report('model', name, 'it was not dealt with');
    for (const [name, { target, detail }] of known) {
      if (target === null) continue;
      const { after } = JSON.parse(detail ?? '{}') as { after: StoredModel };
      const current = await catalog.model(store.kysely, name);
      if (current === undefined) this.#change('model', name, 'it was removed since');
      else if (current.price !== after.price)
        this.#change('model', name, `its price was ${after.price} and is ${current.price}`);
      else if (!isSameModel(current, after)) this.#change('model', name, 'it was changed since');
    }
    return replacedModels(known);
  };

  readonly groups: ImportVisitor['groups'] = async (rows) => {
    const { store, groups, importId } = this.#dependencies;
    const known = await store.named(importId, 'group');
    this.#plans = known;
    for (const [name] of rows) if (!known.has(name)) this.#report('group', name, 'it was not dealt with');
    for (const [name, { target, detail }] of known) {
      if (target === null) continue;
      const made = JSON.parse(detail ?? '{}') as StoredGroupPlan;
      const plan = await groups.find(store.kysely, target);
      if (plan === undefined) this.#change('group', name, 'its plan was removed since');
      else if (plan.price_factor !== made.price_factor)
        this.#change('group', name, `its price factor was ${made.price_factor} and is ${plan.price_factor}`);
      else if (plan.channels !== made.channels || plan.models !== made.models)
        this.#change('group', name, 'its channels or models were changed since');
    }
  };

  readonly users: ImportVisitor['users'] = async (rows) => {
    const { verifyStore, store, groups, importId } = this.#dependencies;
    const decided = await this.#decided('user', rows);
    const users = valuesOf(decided.rows);
    const targets = users.map(({ sourceId }) => decided.targets.get(sourceId)?.target ?? -1);
    const [accounts, plans, grants] = await Promise.all([
      verifyStore.accounts(targets),
      groups.subscribed(store.kysely, importId, targets),
      verifyStore.grants(users.map(({ sourceId }) => grantRef(importId, sourceId))),
    ]);
    for (const [index, { sourceId, grant, group }] of users.entries()) {
      const target = targets[index] as number;
      const plan = this.#plans.get(group)?.target ?? undefined;
      if (plan !== undefined && plans.get(target) !== plan)
        this.#change('user', String(sourceId), `its account is no longer on the plan of ${group}`);
      const found = grants.get(grantRef(importId, sourceId));
      if (!accounts.has(target)) this.#report('user', String(sourceId), `its account ${target} is gone`);
      if ((found?.amount ?? 0) !== grant)
        this.#report('user', String(sourceId), `${grant} should have come over and ${found?.amount ?? 0} did`);
      if (found !== undefined && found.userId !== target)
        this.#report('user', String(sourceId), `its balance went to account ${found.userId} and not to ${target}`);
    }
    const named = new Map(
      [...decided.targets].map(([sourceId, { name, detail }]) => [
        sourceId,
        { username: name, loginEmail: detail === NO_LOGIN_EMAIL ? null : '' },
      ]),
    );
    const roleOf = ({ sourceId }: ImportedUser) => accounts.get(decided.targets.get(sourceId)?.target ?? -1);
    return decided.rows.map((row) => withRankRemarks(withNameRemarks(row, named), roleOf));
  };

  readonly keys: ImportVisitor['keys'] = async (rows) => {
    const { verifyStore, store, importId } = this.#dependencies;
    const decided = await this.#decided('key', rows);
    const keys = valuesOf(decided.rows);
    const [tokens, owners] = await Promise.all([
      verifyStore.tokens(keys.map(({ hash }) => hash)),
      store.targets(importId, 'user', [...new Set(keys.map(({ userId }) => userId))]),
    ]);
    for (const key of keys) {
      const source = String(key.sourceId);
      const found = tokens.get(key.hash);
      const owner = owners.get(key.userId)?.target;
      if (found === undefined) this.#report('key', source, 'the key does not work: it is not here');
      else if (found.user_id !== owner)
        this.#report('key', source, `it belongs to account ${found.user_id} and not to ${owner}`);
      else if (found.expires_at !== (key.expiresAt ?? null) || found.quota_limit !== (key.limit?.quota ?? null))
        this.#change('key', source, 'its end or its limit is another than it was');
    }
    return decided.rows;
  };

  readonly codes: ImportVisitor['codes'] = async (rows) => {
    const decided = await this.#decided('code', rows);
    const codes = valuesOf(decided.rows);
    const found = await this.#dependencies.verifyStore.codes(
      codes.map(({ sourceId }) => decided.targets.get(sourceId)?.target ?? -1),
    );
    for (const { sourceId, quota } of codes)
      if (found.get(decided.targets.get(sourceId)?.target ?? -1) !== quota)
        this.#report('code', String(sourceId), `it is not here with its ${quota}`);
    return decided.rows;
  };

  readonly endedTasks: ImportVisitor['endedTasks'] = async (rows) => {
    const compared = await findWrongEndedTasks(rows, this.#dependencies);
    for (const [sourceId, text] of compared.wrong) this.#report('ended-task', String(sourceId), text);
    return compared.rows;
  };

  readonly tasks: ImportVisitor['tasks'] = async (rows) => {
    const { store, tasks, importId } = this.#dependencies;
    const decided = await this.#decided('task', rows);
    const open = valuesOf(decided.rows);
    const grants = await tasks.grants(
      store.kysely,
      open.map(({ sourceId }) => taskGrantRef(importId, sourceId)),
    );
    const found = await tasks.found(
      store.kysely,
      open.map(({ sourceId }) => taskIdOf(importId, sourceId)),
    );
    for (const { sourceId, paid } of open) {
      const came = grants.get(taskGrantRef(importId, sourceId));
      if (came !== paid)
        this.#report('task', String(sourceId), `${paid} was paid for it and ${came ?? 'nothing'} came over`);
      if (!found.has(taskIdOf(importId, sourceId))) this.#report('task', String(sourceId), 'it is not here');
    }
    return decided.rows;
  };

  #change(kind: ImportKind, source: string, text: string): void {
    this.changes.push({ kind, source, text });
  }

  #report(kind: ImportKind, source: string, text: string): void {
    this.discrepancies.push({ kind, source, text });
  }

  /** The rows with the outcome the import recorded; rows without a record are discrepancies. */
  async #decided<T>(kind: ImportKind, rows: readonly MappedRow<T>[]) {
    const { store, importId } = this.#dependencies;
    const targets = await store.targets(
      importId,
      kind,
      rows.map(({ sourceId }) => sourceId),
    );
    const decided = rows.map((row): MappedRow<T> => {
      const target = targets.get(row.sourceId)?.target;
      if (target === undefined) this.#report(kind, String(row.sourceId), 'it was not dealt with');
      if (row.outcome.kind === 'skipped' || (target !== null && target !== undefined)) return row;
      return { ...row, outcome: knownOutcome(kind) };
    });
    return { rows: decided, targets };
  }
}

/** SQL that reads imported data for the verification. */
export class VerifyStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Roles of existing accounts, including removed ones, because owners may have left since. */
  async accounts(ids: readonly number[]): Promise<ReadonlyMap<number, Role>> {
    if (ids.length === 0) return new Map();
    const { kysely } = this.#database;
    const rows = await kysely.selectFrom('accounts').select(['id', 'role']).where('id', 'in', ids).execute();
    return new Map(rows.map(({ id, role }) => [id, role]));
  }

  /** Imported balances by their cause. */
  async grants(
    refs: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly userId: number; readonly amount: number }>> {
    if (refs.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('ledger')
      .select(['ref', 'user_id', 'amount'])
      .where('kind', '=', 'grant')
      .where('ref', 'in', refs)
      .execute();
    return new Map(rows.map((row) => [row.ref, { userId: row.user_id, amount: row.amount }]));
  }

  /** The sum and number of all balances an import granted. */
  async grantTotal(importId: number): Promise<{ readonly count: number; readonly sum: bigint }> {
    const prefix = `import:${importId}:`;
    const rows = await this.#database.kysely
      .selectFrom('ledger')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number | string | null>('amount').as('sum')])
      .where('kind', '=', 'grant')
      .where('ref', '>=', prefix)
      .where('ref', '<', `${prefix}\uffff`)
      .executeTakeFirstOrThrow();
    return { count: Number(rows.count), sum: BigInt(rows.sum ?? 0) };
  }

  async tokens(hashes: readonly string[]) {
    if (hashes.length === 0) return new Map<string, never>();
    const rows = await this.#database.kysely
      .selectFrom('tokens')
      .leftJoin('token_limits', 'token_limits.token_id', 'tokens.id')
      .select(['tokens.hash', 'tokens.id', 'tokens.user_id', 'tokens.expires_at', 'token_limits.quota_limit'])
      .where('tokens.hash', 'in', hashes)
      .execute();
    return new Map(rows.map((row) => [row.hash, row]));
  }

  /** Time of the last change of these channels, Unix milliseconds. */
  async channels(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('channels')
      .select(['id', 'updated_at'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.updated_at]));
  }

  /** Quota of codes by their id. */
  async codes(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('redemption_codes')
      .select(['id', 'quota'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.quota]));
  }
}
