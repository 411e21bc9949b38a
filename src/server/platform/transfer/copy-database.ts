import { type PostgresTarget, RowDigest, toCopyLine } from './postgres-target.ts';
import type { CellValue, SourceTable, SqliteSource } from './sqlite-source.ts';

/** Characters sent to PostgreSQL at a time; together with pg's buffer, this is the memory a copy needs. */
const PIECE_LENGTH = 256 * 1024;
const PROGRESS_INTERVAL_MS = 250;

/** Progress of a copy. */
export interface CopyProgress {
  readonly table: string;
  readonly rows: number;
  readonly totalRows: number;
  /** Total of all tables so far. */
  readonly characters: number;
}

/** Result for one table. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

interface CopyOptions {
  /** Whether to compare each copied row with its original. */
  readonly verify: boolean;
  readonly onProgress: (progress: CopyProgress) => void;
}

/** Tables that contain rows as soon as they are migrated; these are replaced by the source's. */
export const SEEDED_TABLES: readonly string[] = [
  'device_clients',
  'device_client_secrets',
  'catalog_version',
  'plans',
  'schema_migrations',
];

/** @throws Error when the target has a foreign table, or a row that a fresh schema does not have */
export async function assertEmptyTarget(target: PostgresTarget): Promise<void> {
  const tables = await target.columns();
  if (tables.size === 0) return;
  const unused = 'Make a new database for the copy (createdb), or drop this one if nobody needs it.';
  if (!tables.has('schema_migrations'))
    throw new Error(`The target is not empty: it has a table ${[...tables.keys()][0]}. ${unused}`);
  for (const table of tables.keys())
    if (!SEEDED_TABLES.includes(table) && (await target.hasRows(table)))
      throw new Error(`The target is not empty: its table ${table} has rows. ${unused}`);
}

/**
 * Copies every table of a SQLite database into a PostgreSQL database with the same schema, all or nothing, and compares
 * the row counts.
 * @throws Error when the schemas differ, a value cannot be stored, or the copy differs from the source
 */
export async function copyTables(
  source: SqliteSource,
  target: PostgresTarget,
  { verify, onProgress }: CopyOptions,
): Promise<CopiedTable[]> {
  const tables = source.tables();
  assertSameSchema(tables, await target.columns());
  const digests = new Map<string, RowDigest>();
  await target.transaction(async () => {
    const progress = new ProgressReporter(onProgress);
    for (const table of tables) {
      const doubles = verify ? await target.doubleColumns(table.name) : new Set<string>();
      const normalize = lineNormalizer(table.columns, doubles);
      const digest = new RowDigest();
      await target.empty(table.name);
      await target.copyIn(
        table.name,
        table.columns,
        piecesOf(source, table, progress, (line) => {
          if (verify) digest.add(normalize(line));
        }),
      );
      if (table.sequence !== undefined) await target.setSequence(table.name, table.sequence);
      digests.set(table.name, digest);
    }
  });
  await target.analyze();
  const copied: CopiedTable[] = [];
  for (const { name, columns, rowCount } of tables) {
    const rows = await target.count(name);
    if (rows !== rowCount) throw new Error(`The table ${name} has ${rowCount} rows and its copy ${rows}.`);
    if (verify) {
      const normalize = lineNormalizer(columns, await target.doubleColumns(name));
      const copy = await target.digest(name, columns, normalize);
      if (String(copy) !== String(digests.get(name)))
        throw new Error(`The rows of the table ${name} differ from those of its copy.`);
    }
    copied.push({ table: name, rows });
  }
  return copied;
}

/** Checks that both have the same tables with the same columns; their order may differ. */
function assertSameSchema(tables: readonly SourceTable[], target: ReadonlyMap<string, readonly string[]>): void {
  const ours = new Set(tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`)));
  const theirs = new Set(
    [...target]
      .filter(([name]) => name !== 'schema_migrations')
      .flatMap(([name, columns]) => columns.map((column) => `${name}.${column}`)),
  );
  const missing = [...ours].filter((column) => !theirs.has(column));
  const added = [...theirs].filter((column) => !ours.has(column));
  if (missing.length > 0) throw new Error(`The target has no column ${missing.join(', ')}; nothing was copied.`);
  if (added.length > 0) throw new Error(`The source has no column ${added.join(', ')}; nothing was copied.`);
}

function* piecesOf(
  source: SqliteSource,
  table: SourceTable,
  progress: ProgressReporter,
  onLine: (line: string) => void,
): Generator<string> {
  let piece = '';
  let rows = 0;
  for (const row of source.rows(table)) {
    const line = toLine(table, row);
    onLine(line);
    piece += `${line}\n`;
    rows += 1;
    if (piece.length < PIECE_LENGTH) continue;
    progress.report(table, rows, piece.length);
    yield piece;
    piece = '';
  }
  progress.report(table, rows, piece.length);
  if (piece !== '') yield piece;
}

function toLine(table: SourceTable, row: readonly CellValue[]): string {
  try {
    return toCopyLine(row);
  } catch (error) {
    const at = `the row of ${table.name} that begins with ${String(row[0]).slice(0, 60)}`;
    throw new Error(`Cannot copy ${at}: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Rewrites floating-point columns of a line in JavaScript's notation: PostgreSQL writes 1e-07 for 1e-7. */
function lineNormalizer(columns: readonly string[], doubles: ReadonlySet<string>): (line: string) => string {
  if (doubles.size === 0) return (line) => line;
  const places = columns.flatMap((column, index) => (doubles.has(column) ? [index] : []));
  return (line) => {
    const fields = line.split('\t');
    for (const place of places) if (fields[place] !== '\\N') fields[place] = String(Number(fields[place]));
    return fields.join('\t');
  };
}

class ProgressReporter {
  readonly #onProgress: (progress: CopyProgress) => void;
  #characters = 0;
  #last = 0;

  constructor(onProgress: (progress: CopyProgress) => void) {
    this.#onProgress = onProgress;
  }

  report({ name, rowCount }: SourceTable, rows: number, characters: number): void {
    this.#characters += characters;
    const now = performance.now();
    if (rows < rowCount && now - this.#last < PROGRESS_INTERVAL_MS) return;
    this.#last = now;
    this.#onProgress({ table: name, rows, totalRows: rowCount, characters: this.#characters });
  }
}
