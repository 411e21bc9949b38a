import type { Insertable, Selectable } from 'kysely';
import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Database } from '../src/server/platform/db/database.ts';
import type { Executor, Tables, Trx } from '../src/server/tables.ts';

type ImportRow = Selectable<Tables['imports']>;
type RowNote = Insertable<Tables['import_rows']>;

/** The recorded outcome of a source row. */
interface Decided {
  /** Id in this service; null: skipped. */
  readonly target: number | null;
  readonly name: string;
  readonly detail: string | null;
}

/** SQL of imports and of the outcome of each source row. */
export class ImportRecordStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  get kysely(): Executor {
    return this.#database.kysely;
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  /** The import of a source, unless it was undone. */
  findImport(identities: readonly string[]): Promise<ImportRow | undefined> {
    return this.kysely
      .selectFrom('imports')
      .selectAll()
      .where('identity', 'in', identities)
      .where('state', '<>', 'undone')
      .orderBy('id', 'desc')
      .executeTakeFirst();
  }

  async addImport(row: Omit<Insertable<Tables['imports']>, 'id' | 'state' | 'finished_at'>): Promise<number> {
    const made = await this.kysely
      .insertInto('imports')
      .values({ ...row, state: 'applying', finished_at: null })
      .returning('id')
      .executeTakeFirstOrThrow();
    return made.id;
  }

  async setState(id: number, state: 'applied' | 'undone', now: number): Promise<void> {
    await this.kysely.updateTable('imports').set({ state, finished_at: now }).where('id', '=', id).execute();
  }

  /** Outcomes of source rows, by their ids. Skipped rows have no target. */
  async targets(
    importId: number,
    kind: ImportKind,
    sourceIds: readonly number[],
    db: Executor = this.kysely,
  ): Promise<Map<number, Decided>> {
    if (sourceIds.length === 0) return new Map();
    const rows = await db
      .selectFrom('import_rows')
      .select(['source_id', 'target_id', 'name', 'detail'])
      .where('import_id', '=', importId)
      .where('kind', '=', kind)
      .where('source_id', 'in', sourceIds)
      .execute();
    return new Map(rows.map((row) => [row.source_id, { target: row.target_id, name: row.name, detail: row.detail }]));
  }

  /** Outcomes of objects that have a name but no id in the source. */
  async named(
    importId: number,
    kind: 'model' | 'group',
    db: Executor = this.kysely,
  ): Promise<ReadonlyMap<string, Omit<Decided, 'name'>>> {
    const rows = await db
      .selectFrom('import_rows')
      .select(['name', 'target_id', 'detail'])
      .where('import_id', '=', importId)
      .where('kind', '=', kind)
      .execute();
    return new Map(rows.map((row) => [row.name, { target: row.target_id, detail: row.detail }]));
  }

  /** Every channel an import created, with its recorded source data. */
  async channels(importId: number, db: Executor = this.kysely) {
    const rows = await db
      .selectFrom('import_rows')
      .select(['source_id', 'name', 'target_id', 'detail'])
      .where('import_id', '=', importId)
      .where('kind', '=', 'channel')
      .where('target_id', 'is not', null)
      .execute();
    return rows.map((row) => ({
      sourceId: row.source_id,
      index: Number(row.name),
      id: row.target_id as number,
      updatedAt: Number(row.detail),
    }));
  }

  /** Accounts of an earlier import of the same source that an undo kept because they were used. */
  async keptUsers(identities: readonly string[], sourceIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (sourceIds.length === 0) return new Set();
    const rows = await this.kysely
      .selectFrom('import_rows')
      .innerJoin('imports', 'imports.id', 'import_rows.import_id')
      .select('import_rows.source_id')
      .where('imports.identity', 'in', identities)
      .where('imports.state', '=', 'undone')
      .where('import_rows.kind', '=', 'user')
      .where('import_rows.target_id', 'is not', null)
      .where('import_rows.source_id', 'in', sourceIds)
      .execute();
    return new Set(rows.map((row) => row.source_id));
  }

  async note(trx: Trx, rows: readonly RowNote[]): Promise<void> {
    if (rows.length > 0) await trx.insertInto('import_rows').values(rows).execute();
  }
}
