export type EngineName = 'sqlite' | 'postgres' | 'mysql';

/** A row of the source: every value as text, numbers in full, booleans as `1` and `0`; null and missing columns are null. */
export type SourceRow = Readonly<Record<string, string | null>>;

/** Some columns and rows of a table; by default all of them. */
export interface TablePart {
  /** Those that are not there are left out. */
  readonly columns?: readonly string[];
  /** A condition on a row, with `[name]` for a quoted name. */
  readonly where?: string;
}

/**
 * The database of the program to migrate from, as one state of it, read only.
 *
 * Engines differ in what their clients make of values, so that everything arrives as text and the mapping is the same for all.
 */
export interface SourceDatabase {
  readonly engine: EngineName;
  /** Columns by table. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  /** Rows after an id in its order; none where there is no such table. */
  page(table: string, after: bigint, limit: number, part?: TablePart): Promise<SourceRow[]>;
  /** The rows of a query of ours; `?` stands for each parameter and `[name]` for a quoted name. */
  query(text: string, parameters?: readonly (string | bigint)[]): Promise<SourceRow[]>;
  close(): Promise<void>;
}

/** 0 where there is no such table. */
export async function countRows({ tables, query }: SourceDatabase, table: string): Promise<number> {
  if (!tables.has(table)) return 0;
  const [row] = await query(`select count(*) as [n] from [${table}]`);
  return Number(row?.n ?? 0);
}

/** What each engine does in its own way. */
export interface SourceConnection {
  readonly engine: EngineName;
  readonly quote: (name: string) => string;
  /** Table and column of every column there is. */
  columns(): Promise<readonly (readonly [table: string, column: string])[]>;
  run(text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]>;
  close(): Promise<void>;
}

/** Puts the common part on a connection. Closes it when its tables cannot be read. */
export async function openSourceDatabase(connection: SourceConnection): Promise<SourceDatabase> {
  const { engine, quote } = connection;
  const columns = await connection.columns().catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  const tables = new Map(
    [...Map.groupBy(columns, ([table]) => table)].map(([table, rows]) => [table, rows.map(([, column]) => column)]),
  );
  const query: SourceDatabase['query'] = (text, parameters = []) =>
    connection.run(
      text.replace(/\[(\w+)\]/g, (_, name: string) => quote(name)),
      parameters,
    );
  return {
    engine,
    tables,
    query,
    async page(table, after, limit, { columns, where }: TablePart = {}) {
      const there = tables.get(table);
      if (there === undefined) return [];
      const wanted = columns?.filter((column) => there.includes(column)).map((column) => `[${column}]`) ?? ['*'];
      const rows = where === undefined ? '' : `${where} and `;
      return query(`select ${wanted.join(', ')} from [${table}] where ${rows}[id] > ? order by [id] limit ${limit}`, [
        after,
      ]);
    },
    close: () => connection.close(),
  };
}
