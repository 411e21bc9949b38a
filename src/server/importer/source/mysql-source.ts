import { createRequire } from 'node:module';
import type * as mysql from 'mysql2/promise';
import { openSourceDatabase, type SourceDatabase, type SourceRow } from './source-database.ts';

const load = createRequire(import.meta.url);

/** MySQL and MariaDB. @throws Error of the server or of the way to it */
export async function openMysqlSource(url: string): Promise<SourceDatabase> {
  // Loaded when one is first used: a service never needs it.
  const { createConnection } = load('mysql2/promise') as typeof mysql;
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const socketPath = searchParams.get('socket');
  const connection = await createConnection({
    ...(socketPath === null ? { host: hostname, port: Number(port || '3306') } : { socketPath }),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4',
    connectTimeout: 10_000,
    // Everything as the server writes it: no number is rounded, no time zone is guessed.
    typeCast: (field) => field.string('utf8'),
  });
  connection.on('error', () => {});
  await connection.query('set session transaction isolation level repeatable read');
  await connection.query('start transaction with consistent snapshot, read only');
  const run = async (text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]> => {
    const [rows] = await connection.query(text, parameters.map(String));
    return rows as SourceRow[];
  };
  return openSourceDatabase({
    engine: 'mysql',
    quote: (name) => `\`${name}\``,
    columns: async () =>
      (
        await run(
          `select table_name as t, column_name as c from information_schema.columns
           where table_schema = database() order by table_name, ordinal_position`,
          [],
        )
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run,
    close: () => connection.end(),
  });
}
