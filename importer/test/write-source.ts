import { DatabaseSync } from 'node:sqlite';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import type { Generation } from '../source.ts';
import { type Row, rowsOf, type Value } from './source-rows.ts';
import { type ColumnKind, schemaOf, type TableSchema } from './source-schemas.ts';

/** The engines of generated sources. */
export type SourceEngine = 'sqlite' | 'postgres' | 'mariadb';

type Words = Readonly<Record<ColumnKind, string>>;
const WORDS: Readonly<Record<SourceEngine, Words>> = {
  sqlite: {
    id: 'integer primary key',
    int: 'integer',
    bool: 'numeric',
    text: 'text',
    padded: 'char(48)',
    time: 'datetime',
    json: 'json',
    float: 'real',
  },
  postgres: {
    id: 'bigint primary key',
    int: 'bigint',
    bool: 'boolean',
    text: 'text',
    padded: 'char(56)',
    time: 'timestamptz',
    json: 'json',
    float: 'double precision',
  },
  mariadb: {
    id: 'bigint primary key',
    int: 'bigint',
    bool: 'tinyint(1)',
    text: 'longtext',
    padded: 'char(56)',
    time: 'datetime(3)',
    json: 'json',
    float: 'double',
  },
};

/** Runs statements on a database of one engine; `?` stands for each value. */
export interface SourceWriter {
  run(text: string, values?: readonly Value[]): Promise<void>;
  quote(name: string): string;
  close(): Promise<void>;
}

/** @param url in the format of `reelgate import --from` */
export async function openWriter(url: string): Promise<SourceWriter & { readonly engine: SourceEngine }> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length));
    return {
      engine: 'sqlite',
      run: async (text, values = []) => void database.prepare(text).run(...values.map(withoutBooleans)),
      quote: (name) => `"${name}"`,
      close: async () => database.close(),
    };
  }
  if (url.startsWith('postgres')) {
    const client = new Client({ connectionString: url });
    await client.connect();
    return {
      engine: 'postgres',
      async run(text, values = []) {
        let place = 0;
        await client.query(
          text.replaceAll('?', () => `$${++place}`),
          [...values],
        );
      },
      quote: (name) => `"${name}"`,
      close: () => client.end(),
    };
  }
  const { pathname, searchParams, username } = new URL(url);
  const connection = await createConnection({
    socketPath: searchParams.get('socket') ?? '',
    user: username,
    database: pathname.slice(1),
    charset: 'utf8mb4',
  });
  return {
    engine: 'mariadb',
    run: async (text, values = []) => void (await connection.query(text, values.map(withoutBooleans))),
    quote: (name) => `\`${name}\``,
    close: () => connection.end(),
  };
}

const withoutBooleans = (value: Value): Exclude<Value, boolean> => (typeof value === 'boolean' ? Number(value) : value);

/** Creates the database of a generation, with every irregular value. */
export async function writeSource(url: string, generation: Generation): Promise<void> {
  const writer = await openWriter(url);
  const rows = rowsOf(generation);
  for (const [table, columns] of Object.entries(schemaOf(generation))) {
    await writer.run(declaration(writer, writer.engine, table, columns));
    for (const row of rows[table] ?? []) await insertRow(writer, table, columns, row);
  }
  await writer.close();
}

function declaration({ quote }: SourceWriter, engine: SourceEngine, table: string, columns: TableSchema): string {
  const words = WORDS[engine];
  return `create table ${quote(table)} (${Object.entries(columns)
    .map(([name, kind]) => `${quote(name)} ${words[kind]}`)
    .join(', ')})`;
}

/** Inserts a row, omitting columns that the generation lacks. */
export async function insertRow(writer: SourceWriter, table: string, columns: TableSchema, row: Row): Promise<void> {
  const known = Object.entries(row).filter(([name]) => name in columns);
  await writer.run(
    `insert into ${writer.quote(table)} (${known.map(([name]) => writer.quote(name)).join(', ')})
     values (${known.map(() => '?').join(', ')})`,
    known.map(([, value]) => value),
  );
}
