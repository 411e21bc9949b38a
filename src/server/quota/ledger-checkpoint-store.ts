import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { LedgerAuditFinding } from './ledger-audit-store.ts';

/** One pass over the ledger: the sums of each account up to an entry. */
export interface Generation {
  readonly generation: number;
  /** Id of the last entry that is in them. */
  readonly position: number;
}

export interface StoredAudit {
  readonly kind: 'incremental' | 'full';
  readonly finishedAt: number;
  readonly durationMs: number;
  readonly findings: readonly LedgerAuditFinding[];
}

const FIRST_GENERATION = 1;
const DELETE_BATCH = 1_000;

/** SQL of the checkpoints, by which an audit reads each entry once, and of the results of audits. */
export class LedgerCheckpointStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  get database(): Database<Tables> {
    return this.#database;
  }

  /** The generation that wallets are compared with; the first one is begun here. */
  async current(executor: Executor = this.#database.kysely): Promise<Generation> {
    const find = () =>
      executor.selectFrom('ledger_generations').select(['generation', 'position']).where('is_current', '=', 1);
    const found = await find().executeTakeFirst();
    if (found !== undefined) return found;
    await executor
      .insertInto('ledger_generations')
      .values({ generation: FIRST_GENERATION, position: 0, is_current: 1 })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return find().executeTakeFirstOrThrow();
  }

  /** Begins a new pass; what an interrupted one left is removed. */
  async beginGeneration(): Promise<Generation> {
    const { generation: current } = await this.current();
    await this.#deleteCheckpoints((generation) => generation !== current);
    const generation = current + 1;
    await this.#database.kysely
      .insertInto('ledger_generations')
      .values({ generation, position: 0, is_current: 0 })
      .execute();
    return { generation, position: 0 };
  }

  /** From now on wallets are compared with this generation; the others are removed. */
  async makeCurrent(generation: number): Promise<void> {
    await this.#database.transaction(async (trx) => {
      await trx.updateTable('ledger_generations').set({ is_current: 0 }).where('is_current', '=', 1).execute();
      await trx.updateTable('ledger_generations').set({ is_current: 1 }).where('generation', '=', generation).execute();
    });
    await this.#deleteCheckpoints((each) => each !== generation);
  }

  /** The highest id of an entry that can be seen now. */
  async newestEntry(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('ledger')
      .select(({ fn }) => fn.coalesce(fn.max('id'), sql<number>`0`).as('id'))
      .executeTakeFirstOrThrow();
    return Number(row.id);
  }

  /**
   * Adds the entries with an id above the generation's position and at most `upTo` to its checkpoints.
   *
   * @returns the accounts they belong to; undefined when another process has moved the position meanwhile
   */
  async advance({ generation, position }: Generation, upTo: number): Promise<readonly number[] | undefined> {
    return this.#database.transaction(async (trx) => {
      const moved = await trx
        .updateTable('ledger_generations')
        .set({ position: upTo })
        .where('generation', '=', generation)
        .where('position', '=', position)
        .executeTakeFirst();
      if (!wasChanged(moved)) return undefined;
      const { rows } = await sql<{ user_id: number }>`
        insert into ledger_checkpoints (generation, user_id, amount, charged, settled)
        select cast(${generation} as bigint), user_id, sum(amount), sum(charged),
          sum(case when kind = 'settle' then 1 else settlements end)
        from ledger where id > ${position} and id <= ${upTo} group by user_id
        on conflict (generation, user_id) do update set amount = ledger_checkpoints.amount + excluded.amount,
          charged = ledger_checkpoints.charged + excluded.charged, settled = ledger_checkpoints.settled + excluded.settled
        returning user_id`.execute(trx);
      return rows.map((row) => Number(row.user_id));
    });
  }

  /** The account that ends a batch of so many after an id; undefined after the last one. */
  async endOfBatch(after: number, size: number): Promise<number | undefined> {
    const rows = await this.#database.kysely
      .selectFrom('wallets')
      .select('user_id')
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(size)
      .execute();
    return rows.at(-1)?.user_id;
  }

  async saveAudit(trx: Trx, { kind, finishedAt, durationMs, findings }: StoredAudit): Promise<void> {
    const values = { finished_at: finishedAt, duration_ms: durationMs, findings: JSON.stringify(findings) };
    await trx
      .insertInto('ledger_audits')
      .values({ kind, ...values })
      .onConflict((conflict) => conflict.column('kind').doUpdateSet(values))
      .execute();
  }

  async audits(): Promise<StoredAudit[]> {
    const rows = await this.#database.kysely.selectFrom('ledger_audits').selectAll().execute();
    return rows.map((row) => ({
      kind: row.kind,
      finishedAt: row.finished_at,
      durationMs: row.duration_ms,
      findings: JSON.parse(row.findings),
    }));
  }

  async #deleteCheckpoints(isOld: (generation: number) => boolean): Promise<void> {
    const { kysely } = this.#database;
    const all = await kysely.selectFrom('ledger_generations').select('generation').execute();
    for (const { generation } of all.filter((each) => isOld(each.generation))) {
      for (;;) {
        const some = kysely
          .selectFrom('ledger_checkpoints')
          .select('user_id')
          .where('generation', '=', generation)
          .limit(DELETE_BATCH);
        const result = await kysely
          .deleteFrom('ledger_checkpoints')
          .where('generation', '=', generation)
          .where('user_id', 'in', some)
          .executeTakeFirst();
        if (Number(result.numDeletedRows) < DELETE_BATCH) break;
      }
      await kysely.deleteFrom('ledger_generations').where('generation', '=', generation).execute();
    }
  }
}
