import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { toLimit } from '../../contract/large-list-pagination.ts';
import * as endpoints from '../../contract/request-log.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { TaskIdLookup } from '../quota/routes.ts';
import { toCsv } from './csv-export.ts';
import { addLiveRoutes } from './live-routes.ts';
import type { Requests } from './make.ts';
import { ownFilter, toFilter } from './parse-request-filter.ts';
import { formatCursor, type Present, parseCursor, toAdminRequest, toRequest, toStatistics } from './presenter.ts';
import type { ListedRequest, RequestFilter } from './request-store.ts';
import type { StatisticsColumn } from './statistics-store.ts';

export interface RequestRouteDependencies {
  readonly requests: Pick<Requests, 'store' | 'statistics' | 'liveViews'>;
  readonly tasks: Pick<TaskIdLookup, 'publicIds'>;
  /** Ends a live view with the credential that opened it. */
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
}

/** What was called, by whom, how long it took and what it cost, for owners and administrators. */
export function addRequestRoutes(
  routes: RouteRegistry,
  { requests, tasks, credentialWatch }: RequestRouteDependencies,
): void {
  const { store, statistics, liveViews } = requests;
  const presentWith =
    <R>(present: (row: ListedRequest, ref: string) => R): Present<R> =>
    async (rows) => {
      const names = await tasks.publicIds(rows.map(({ ref }) => ref).filter((ref) => ref.startsWith('task_')));
      return rows.map((row) => present(row, names.get(row.ref) ?? row.ref));
    };
  const [own, all] = [presentWith(toRequest), presentWith(toAdminRequest)];

  const list = async <R>(filter: RequestFilter, page: PageQuery, present: Present<R>) => {
    const limit = toLimit(page.limit);
    const rows = await store.list(filter, parseCursor(page.after), limit);
    const last = rows.at(-1);
    const next = last === undefined || rows.length < limit ? null : formatCursor(last);
    return { success: true as const, data: [...(await present(rows))], next };
  };
  routes.add(endpoints.listRequests, ({ query, caller }) => list(ownFilter(query, caller), query, own));
  routes.add(endpoints.listAllRequests, ({ query }) => list(toFilter(query), query, all));

  const exportCsv = <R extends object>(
    reply: FastifyReply,
    filter: RequestFilter,
    present: Present<R>,
    schema: { readonly properties: Readonly<Record<keyof R & string, unknown>> },
  ) =>
    reply
      .header('content-type', 'text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="requests.csv"')
      .header('cache-control', 'no-store')
      .send(Readable.from(toCsv(store, filter, present, Object.keys(schema.properties) as (keyof R & string)[])));
  routes.add(endpoints.exportRequests, async ({ query, caller, reply }) =>
    exportCsv(reply, ownFilter(query, caller), own, endpoints.RequestRow),
  );
  routes.add(endpoints.exportAllRequests, async ({ query, reply }) =>
    exportCsv(reply, toFilter(query), all, endpoints.AdminRequestRow),
  );

  const figures = async (filter: RequestFilter, by: keyof typeof COLUMNS) =>
    ok((await statistics.read(filter, COLUMNS[by])).map(toStatistics));
  routes.add(endpoints.getRequestStatistics, ({ query, caller }) =>
    figures(ownFilter(query, caller), query.by ?? 'model'),
  );
  routes.add(endpoints.getAllRequestStatistics, ({ query }) => figures(toFilter(query), query.by ?? 'model'));
  addLiveRoutes(routes, { liveViews, credentialWatch, own, all });
}

interface PageQuery {
  readonly after?: string;
  readonly limit?: string;
}

const COLUMNS = {
  model: 'model',
  token: 'token_id',
  channel: 'channel_id',
  user: 'user_id',
} as const satisfies Readonly<Record<string, StatisticsColumn>>;
