import { valuesOf, withNameRemarks } from './dry-run.ts';
import { grantRef, type ImportStore, NO_LOGIN_EMAIL } from './import-store.ts';
import type { ImportKind } from './tables.ts';
import type { VerifyStore } from './verify-store.ts';
import type { ImportVisitor, WalkedRow } from './walk.ts';

export interface Discrepancy {
  readonly kind: ImportKind | 'total' | 'ledger';
  /** Id in the source, or what the sum is of. */
  readonly source: string;
  readonly text: string;
}

export interface VerifierDependencies {
  readonly store: ImportStore;
  readonly proof: VerifyStore;
  readonly importId: number;
}

/** Compares every row of the source with what is here. Collects what does not agree; changes nothing. */
export class Verifier implements ImportVisitor {
  /** What a later use of the service cannot explain. */
  readonly discrepancies: Discrepancy[] = [];
  /** What owners may have changed since. */
  readonly changes: Discrepancy[] = [];
  readonly #dependencies: VerifierDependencies;

  constructor(dependencies: VerifierDependencies) {
    this.#dependencies = dependencies;
  }

  readonly channels: ImportVisitor['channels'] = async (rows) => {
    await this.#decided('channel', rows);
  };

  readonly models: ImportVisitor['models'] = async (rows) => {
    const known = await this.#dependencies.store.modelNames(this.#dependencies.importId);
    for (const [name] of rows) if (!known.has(name)) this.#report('model', name, 'it was not dealt with');
  };

  readonly users: ImportVisitor['users'] = async (rows) => {
    const { proof, importId } = this.#dependencies;
    const decided = await this.#decided('user', rows);
    const users = valuesOf(decided.rows);
    const targets = users.map(({ sourceId }) => decided.targets.get(sourceId)?.target ?? -1);
    const [accounts, grants] = await Promise.all([
      proof.accounts(targets),
      proof.grants(users.map(({ sourceId }) => grantRef(importId, sourceId))),
    ]);
    for (const [index, { sourceId, grant }] of users.entries()) {
      const target = targets[index] as number;
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
    return decided.rows.map((row) => withNameRemarks(row, named));
  };

  readonly keys: ImportVisitor['keys'] = async (rows) => {
    const { proof, store, importId } = this.#dependencies;
    const decided = await this.#decided('key', rows);
    const keys = valuesOf(decided.rows);
    const [tokens, owners] = await Promise.all([
      proof.tokens(keys.map(({ hash }) => hash)),
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
        this.changes.push({ kind: 'key', source, text: 'its end or its limit is another than it was' });
    }
    return decided.rows;
  };

  readonly codes: ImportVisitor['codes'] = async (rows) => {
    const decided = await this.#decided('code', rows);
    const codes = valuesOf(decided.rows);
    const found = await this.#dependencies.proof.codes(
      codes.map(({ sourceId }) => decided.targets.get(sourceId)?.target ?? -1),
    );
    for (const { sourceId, quota } of codes)
      if (found.get(decided.targets.get(sourceId)?.target ?? -1) !== quota)
        this.#report('code', String(sourceId), `it is not here with its ${quota}`);
    return decided.rows;
  };

  #report(kind: ImportKind, source: string, text: string): void {
    this.discrepancies.push({ kind, source, text });
  }

  /** The rows as the import decided about them; those it never saw are discrepancies. */
  async #decided<T>(kind: ImportKind, rows: readonly WalkedRow<T>[]) {
    const { store, importId } = this.#dependencies;
    const targets = await store.targets(
      importId,
      kind,
      rows.map(({ sourceId }) => sourceId),
    );
    const decided = rows.map((row): WalkedRow<T> => {
      const target = targets.get(row.sourceId)?.target;
      if (target === undefined) this.#report(kind, String(row.sourceId), 'it was not dealt with');
      if (row.outcome.kind === 'skipped' || (target !== null && target !== undefined)) return row;
      return { ...row, outcome: { kind: 'skipped', reason: 'its value was here already when it was imported' } };
    });
    return { rows: decided, targets };
  }
}
