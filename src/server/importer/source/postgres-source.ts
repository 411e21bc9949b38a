import { loadPg } from '../../platform/db/postgres.ts';
import { openSourceDatabase, type SourceDatabase, type SourceRow } from './source-database.ts';

/** Type ids of PostgreSQL's catalogue (pg_type.dat). */
const BOOLEAN = 16;

/** @throws Error of the server or of the way to it */
export async function openPostgresSource(url: string): Promise<SourceDatabase> {
  const { Client } = loadPg();
  const client = new Client({
    connectionString: url,
    application_name: 'reelgate import',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      // Everything as PostgreSQL writes it.
      getTypeParser: ((id: number) => (text: string | Buffer) => toText(id, String(text))) as never,
    },
  });
  client.on('error', () => {});
  await client.connect();
  await client.query('set statement_timeout = 0; begin isolation level repeatable read read only');
  const run = async (text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]> => {
    let place = 0;
    const numbered = text.replaceAll('?', () => `$${++place}`);
    return (await client.query<SourceRow>(numbered, parameters.map(String))).rows;
  };
  return openSourceDatabase({
    engine: 'postgres',
    quote: (name) => `"${name}"`,
    columns: async () =>
      (
        await run(
          `select table_name as t, column_name as c from information_schema.columns
           where table_schema = current_schema() order by table_name, ordinal_position`,
          [],
        )
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run,
    close: () => client.end(),
  });
}

const toText = (type: number, text: string): string => (type === BOOLEAN ? (text === 't' ? '1' : '0') : text);
