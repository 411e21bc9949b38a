import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Trx } from '../src/server/tables.ts';
import { addEndedTasks } from './ended-tasks.ts';
import { type AccountImportStore, candidatesOf, nameUsers } from './import-store.ts';
import type { ImportTarget } from './import-target.ts';
import type { ImportedUser } from './mapping/accounts.ts';
import type { ImportedTask } from './mapping/tasks.ts';
import { type ModelImportStore, type PlanImportStore, replacedModels } from './model-store.ts';
import { KNOWN_CODE, KNOWN_KEY, knownOutcome, withNameRemarks, withoutKept } from './row-remarks.ts';
import { findTaskOwners, type TaskOwnerDependencies, type TaskPaymentImportStore, taskIdOf } from './task-store.ts';
import { type ImportVisitor, type MappedRow, valuesOf } from './visitor.ts';

interface ApplyDependencies {
  readonly store: AccountImportStore;
  readonly catalog: ModelImportStore;
  readonly groups: PlanImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly target: ImportTarget;
  readonly importId: number;
  readonly identities: readonly string[];
  readonly now: number;
  /** Called before each commit; tests stop the process here. */
  readonly onPage?: (kind: ImportKind) => void;
}

/**
 * Writes the rows of the source. Each page is one transaction, which also records the outcome of its rows; a later run
 * continues after the last recorded row. A process killed at any moment therefore loses and duplicates nothing.
 */
export class ImportWriter implements ImportVisitor {
  readonly #dependencies: ApplyDependencies;
  /** Plans of groups, by their names in the source. */
  #plans: Awaited<ReturnType<AccountImportStore['named']>> = new Map();
  constructor(dependencies: ApplyDependencies) {
    this.#dependencies = dependencies;
  }

  readonly channels: ImportVisitor['channels'] = async (rows) => {
    const { store, catalog, target, importId, now } = this.#dependencies;
    const { fresh } = await this.#split('channel', rows);
    if (fresh.length === 0) return;
    await this.#page('channel', async (trx) => {
      await catalog.bumpVersion(trx);
      for (const { sourceId, outcome } of fresh) {
        const note = { import_id: importId, kind: 'channel' as const, source_id: sourceId };
        if (outcome.kind === 'skipped') await store.note(trx, [{ ...note, name: '', target_id: null, detail: null }]);
        else
          for (const [index, channel] of outcome.value.entries()) {
            const { id, updatedAt } = await target.addChannel(trx, channel, now);
            await store.note(trx, [{ ...note, name: String(index), target_id: id, detail: String(updatedAt) }]);
          }
      }
    });
  };

  readonly models: ImportVisitor['models'] = async (rows) => {
    const { store, catalog, importId, now } = this.#dependencies;
    const known = await store.named(importId, 'model');
    const fresh = rows.filter(([name]) => !known.has(name));
    if (fresh.length === 0) return replacedModels(known);
    await this.#page('model', async (trx) => {
      await catalog.bumpVersion(trx);
      for (const [name, outcome] of fresh) {
        const note = { import_id: importId, kind: 'model' as const, source_id: 0, name };
        if (outcome.kind === 'skipped') {
          await store.note(trx, [{ ...note, target_id: null, detail: null }]);
          continue;
        }
        const before = (await catalog.model(trx, name)) ?? null;
        const after = await catalog.putModel(trx, outcome.value, now);
        await store.note(trx, [{ ...note, target_id: 0, detail: JSON.stringify({ before, after }) }]);
      }
    });
    return replacedModels(await store.named(importId, 'model'));
  };

  readonly groups: ImportVisitor['groups'] = async (rows) => {
    const { store, catalog, groups, importId, now } = this.#dependencies;
    const known = await store.named(importId, 'group');
    const fresh = rows.filter(([name]) => !known.has(name));
    if (fresh.length > 0)
      await this.#page('group', async (trx) => {
        await catalog.bumpVersion(trx);
        const channels = await store.channels(importId, trx);
        for (const [name, outcome] of fresh) {
          const note = { import_id: importId, kind: 'group' as const, source_id: 0, name };
          if (outcome.kind === 'skipped') {
            await store.note(trx, [{ ...note, target_id: null, detail: null }]);
            continue;
          }
          const serving = channels.filter(({ sourceId }) => outcome.value.channels.includes(sourceId));
          const ids = serving.map(({ id }) => id);
          const { id, stored } = await groups.addPlan(trx, outcome.value, ids, { importId, now });
          await store.note(trx, [{ ...note, target_id: id, detail: JSON.stringify(stored) }]);
        }
      });
    this.#plans = await store.named(importId, 'group');
  };

  readonly users: ImportVisitor['users'] = async (rows, usage) => {
    const { store, groups, target, importId, identities, now } = this.#dependencies;
    const { fresh, done } = await this.#split('user', await withoutKept(store, identities, rows));
    if (fresh.length === 0) return done;
    const users = valuesOf(fresh);
    const named = await this.#page('user', async (trx) => {
      const taken = await store.takenNames(
        users.flatMap(candidatesOf),
        users.flatMap(({ email }) => email ?? []),
        trx,
      );
      const named = nameUsers(users, taken);
      await store.addUsers(trx, importId, named, now);
      await store.note(trx, this.#skippedNotes('user', fresh));
      const ids = await store.targets(
        importId,
        'user',
        users.map(({ sourceId }) => sourceId),
        trx,
      );
      const onPlans = named.flatMap(({ sourceId, group }) => {
        const [userId, planId] = [ids.get(sourceId)?.target, this.#plans.get(group)?.target];
        return userId == null || planId == null ? [] : [{ userId, planId }];
      });
      const secrets = named.flatMap(({ sourceId, totpSecret }) => {
        const userId = ids.get(sourceId)?.target;
        return userId == null || totpSecret === undefined
          ? []
          : [{ userId, secret: target.sealTotpSecret(userId, totpSecret) }];
      });
      await store.addSecondSteps(trx, secrets, now);
      await groups.subscribe(trx, onPlans, { importId, now });
      await store.addUsage(
        trx,
        usage.flatMap(({ sourceUserId, ...figures }) => {
          const userId = ids.get(sourceUserId)?.target ?? null;
          return userId === null ? [] : [{ ...figures, userId }];
        }),
      );
      return named;
    });
    const byId = new Map(named.map((user) => [user.sourceId, user]));
    return [...done, ...fresh.map((row): MappedRow<ImportedUser> => withNameRemarks(row, byId))];
  };

  readonly keys: ImportVisitor['keys'] = async (rows) => {
    const { store, importId, now } = this.#dependencies;
    const { fresh, done } = await this.#split('key', rows);
    if (fresh.length === 0) return done;
    const keys = valuesOf(fresh);
    const decided = await this.#page('key', async (trx) => {
      const [known, owners] = await Promise.all([
        store.knownHashes(
          keys.map(({ hash }) => hash),
          trx,
        ),
        store.targets(importId, 'user', [...new Set(keys.map(({ userId }) => userId))], trx),
      ]);
      const page = fresh.map((row) =>
        row.outcome.kind === 'mapped' && known.has(row.outcome.value.hash) ? { ...row, outcome: KNOWN_KEY } : row,
      );
      const owned = valuesOf(page).map((key) => ({ ...key, accountId: owners.get(key.userId)?.target as number }));
      await store.addKeys(trx, importId, owned, now);
      await store.note(trx, this.#skippedNotes('key', page));
      return page;
    });
    return [...done, ...decided];
  };

  readonly codes: ImportVisitor['codes'] = async (rows) => {
    const { store, target, importId, now } = this.#dependencies;
    const { fresh, done } = await this.#split('code', rows);
    if (fresh.length === 0) return done;
    const decided = await this.#page('code', async (trx) => {
      const sealed = new Map(valuesOf(fresh).map((code) => [code.sourceId, target.sealCode(code.code)]));
      const known = await store.knownCodes(
        [...sealed.values()].map(({ hash }) => hash),
        trx,
      );
      const seen = new Set(known);
      const page = fresh.map((row) => {
        const hash = sealed.get(row.sourceId)?.hash;
        if (hash === undefined || !seen.has(hash)) {
          if (hash !== undefined) seen.add(hash);
          return row;
        }
        return { ...row, outcome: KNOWN_CODE };
      });
      await store.addCodes(
        trx,
        importId,
        valuesOf(page).map((code) => ({ ...code, ...(sealed.get(code.sourceId) as { hash: string; hint: string }) })),
        now,
      );
      await store.note(trx, this.#skippedNotes('code', page));
      return page;
    });
    return [...done, ...decided];
  };

  readonly endedTasks: ImportVisitor['endedTasks'] = async (rows) => {
    const { store, tasks, importId } = this.#dependencies;
    const ended = valuesOf(rows);
    const here = await tasks.ended(
      store.kysely,
      ended.map(({ sourceId }) => taskIdOf(importId, sourceId)),
    );
    const fresh = ended.filter(({ sourceId }) => !here.has(taskIdOf(importId, sourceId)));
    if (fresh.length > 0) await this.#page('ended-task', (trx) => addEndedTasks(trx, fresh, this.#dependencies));
    return [...rows];
  };

  readonly tasks: ImportVisitor['tasks'] = async (rows) => {
    const { store } = this.#dependencies;
    const { fresh, done } = await this.#split('task', rows);
    if (fresh.length === 0) return done;
    await this.#page('task', async (trx) => {
      await addUnfinishedTasks(trx, valuesOf(fresh), this.#dependencies);
      await store.note(trx, this.#skippedNotes('task', fresh));
    });
    return [...done, ...fresh];
  };

  #page<R>(
    kind: ImportKind,
    work: Parameters<AccountImportStore['transaction']>[0] extends (trx: infer T) => unknown
      ? (trx: T) => Promise<R>
      : never,
  ): Promise<R> {
    const { store, onPage } = this.#dependencies;
    return store.transaction(async (trx) => {
      const result = await work(trx);
      onPage?.(kind);
      return result;
    });
  }

  /** Separates rows an earlier run handled, with their recorded outcome, from new ones. */
  async #split<T>(
    kind: ImportKind,
    rows: readonly MappedRow<T>[],
  ): Promise<{ fresh: MappedRow<T>[]; done: MappedRow<T>[] }> {
    const { store, importId } = this.#dependencies;
    const known = await store.targets(
      importId,
      kind,
      rows.map(({ sourceId }) => sourceId),
    );
    const fresh = rows.filter(({ sourceId }) => !known.has(sourceId));
    const done = rows.flatMap((row): MappedRow<T>[] => {
      const target = known.get(row.sourceId)?.target;
      if (target === undefined) return [];
      return [target === null && row.outcome.kind === 'mapped' ? { ...row, outcome: knownOutcome(kind) } : row];
    });
    return { fresh, done };
  }

  #skippedNotes<T>(kind: ImportKind, rows: readonly MappedRow<T>[]) {
    const { importId } = this.#dependencies;
    return rows
      .filter(({ outcome }) => outcome.kind === 'skipped')
      .map(({ sourceId }) => ({
        import_id: importId,
        kind,
        source_id: sourceId,
        name: '',
        target_id: null,
        detail: null,
      }));
  }
}

/** Inserts unfinished videos to continue here, holding the amount paid for them until they end. */
async function addUnfinishedTasks(
  trx: Trx,
  unfinished: readonly ImportedTask[],
  dependencies: TaskOwnerDependencies & { readonly target: ImportTarget; readonly now: number },
): Promise<void> {
  const { store, tasks, target, importId, now } = dependencies;
  const owned = await findTaskOwners(trx, unfinished, dependencies);
  const payments = owned.map(({ task, owner: { userId, tokenId = null } }) => ({
    sourceId: task.sourceId,
    userId,
    tokenId,
    model: task.model,
    amount: task.paid,
  }));
  await tasks.hold(trx, importId, payments, now);
  for (const { task, owner } of owned) {
    const target_id = await target.addTask(trx, {
      id: taskIdOf(importId, task.sourceId),
      userId: owner.userId,
      tokenId: owner.seenBy,
      channelId: owner.channelId ?? 0,
      task,
      now,
    });
    const note = { import_id: importId, kind: 'task' as const, source_id: task.sourceId, name: '' };
    await store.note(trx, [{ ...note, target_id, detail: null }]);
  }
}
