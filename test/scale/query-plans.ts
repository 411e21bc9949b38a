import { CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';

/** How a database would run one statement. */
export interface QueryPlan {
  readonly sql: string;
  /** Names of indexes; `PRIMARY KEY` for a scan in the table's own order, which SQLite's tables have. */
  readonly indexes: readonly string[];
  /** Tables that would be read completely. */
  readonly scanned: readonly string[];
  /** SQLite: whether rows would be sorted. */
  readonly sorts: boolean;
  /** PostgreSQL, which plans by statistics: rows read from tables and indexes for the result. */
  readonly rowsRead: number;
}

/** Records the statements that are built with it. */
class Recorder implements KyselyPlugin {
  readonly nodes: RootOperationNode[] = [];
  transformQuery({ node }: { readonly node: RootOperationNode }) {
    this.nodes.push(node);
    return node;
  }
  async transformResult<R>({ result }: { readonly result: R }): Promise<R> {
    return result;
  }
}

/**
 * Runs some work and returns the plans of its queries.
 *
 * @param work called with the database
 */
export async function planQueries<T>(
  database: Database<T>,
  work: (recorded: Database<T>) => Promise<unknown>,
): Promise<QueryPlan[]> {
  const recorder = new Recorder();
  await work({
    ...database,
    kysely: database.kysely.withPlugin(recorder),
    transaction: (inner, options) =>
      database.transaction((trx) => inner(trx.withPlugin(recorder) as typeof trx), options),
  });
  const executor = database.kysely.getExecutor();
  return Promise.all(
    recorder.nodes.map(async (node) => {
      const { sql, parameters } = executor.compileQuery(node, { queryId: 'plan' });
      const isRead = /^(select|with)\b/.test(sql);
      const ofPostgres = isRead ? 'explain (analyze, timing off, format json)' : 'explain (format json)';
      const explain = database.dialect === 'sqlite' ? 'explain query plan' : ofPostgres;
      const { rows } = await database.kysely.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(`${explain} ${sql}`, [...parameters]),
      );
      return { sql, ...(database.dialect === 'sqlite' ? readSqlite(rows) : readPostgres(rows)) };
    }),
  );
}

type Findings = Omit<QueryPlan, 'sql'>;

/** Parses lines in the format of https://sqlite.org/eqp.html. */
function readSqlite(rows: readonly Record<string, unknown>[]): Findings {
  const lines = rows.map(({ detail }) => String(detail));
  return {
    indexes: lines.flatMap(
      (line) => /INDEX (\w+)/.exec(line)?.[1] ?? (/PRIMARY KEY/.test(line) ? ['PRIMARY KEY'] : []),
    ),
    scanned: lines.flatMap((line) => /^SCAN (\w+)$/.exec(line)?.[1] ?? []),
    sorts: lines.some((line) => /TEMP B-TREE FOR (.* )?ORDER BY/.test(line)),
    rowsRead: 0,
  };
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function readPostgres(rows: readonly Record<string, unknown>[]): Findings {
  const answer = rows[0]?.['QUERY PLAN'] as readonly { readonly Plan: PlanNode }[] | undefined;
  const nodes: PlanNode[] = [];
  const visit = (node: PlanNode): void => {
    nodes.push(node);
    for (const child of node.Plans ?? []) visit(child);
  };
  for (const { Plan: root } of answer ?? []) visit(root);
  return {
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
    scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
    sorts: false,
    rowsRead: nodes.filter(isScan).reduce((sum, node) => sum + rowsOf(node), 0),
  };
}

/** Also counts an index scan for a bitmap, whose rows are read from the table later. */
const isScan = (node: PlanNode): boolean => /Scan$/.test(node['Node Type']) && node['Node Type'] !== 'Subquery Scan';
const rowsOf = (node: PlanNode): number =>
  ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
