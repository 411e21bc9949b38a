import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { defined } from '../../contract/objects.ts';
import * as endpoints from '../../contract/request-log.ts';
import {
  type AdminRequestRow,
  getReceipt,
  getTokenReceipt,
  getVideoReceipt,
  type RequestRow,
  streamAllRequests,
  streamRequests,
} from '../../contract/request-log.ts';
import { ok, toLimit } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { AccountCaller, RequestContext, RouteRegistry } from '../platform/http/route-registry.ts';
import { answerHeadRequest, beginEventStream } from '../platform/http/streams.ts';
import type { TaskIdLookup } from '../quota/routes.ts';
import type { Requests } from './module.ts';
import type { ReceiptService } from './receipts.ts';
import type {
  GroupFigures,
  ListedRequest,
  LiveRequestLogSubscribers,
  RequestCursor,
  RequestFilter,
  RequestStore,
  StatisticsColumn,
} from './request-log.ts';

interface RequestRouteDependencies {
  readonly requests: Pick<Requests, 'store' | 'statistics' | 'liveViews'>;
  readonly tasks: Pick<TaskIdLookup, 'publicIds'>;
  /** Closes a live view when the credential that opened it is revoked. */
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
}

/** Registers the request log for owners and administrators: each call with its caller, duration and cost. */
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
  routes.add(endpoints.getAllRequestStatistics, ({ query }) =>
    figures({ ...toFilter(query), ofOrganizations: query.by === 'organization' }, query.by ?? 'model'),
  );
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
  organization: 'user_id',
} as const satisfies Readonly<Record<string, StatisticsColumn>>;

interface LiveRouteDependencies {
  readonly liveViews: LiveRequestLogSubscribers;
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
  readonly own: Present<object>;
  readonly all: Present<object>;
}

interface StreamInput {
  readonly caller: AccountCaller;
  readonly request: RequestContext;
  readonly reply: FastifyReply;
}

/** A client that does not read is disconnected, because its events would accumulate in memory. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/** Registers the live views of the request log. */
function addLiveRoutes(routes: RouteRegistry, { liveViews, credentialWatch, own, all }: LiveRouteDependencies): void {
  const stream = async (
    filter: RequestFilter,
    { caller, request, reply }: StreamInput,
    present: Present<object>,
  ): Promise<FastifyReply> => {
    if (answerHeadRequest(reply)) return reply;
    liveViews.assertCapacity(caller.userId);
    const ended = beginEventStream(reply, {
      disconnected: request.disconnected,
      watchAccess: (onEnd) => credentialWatch.watch(caller, onEnd),
    });
    const { raw } = reply;
    // The head is decided, so no error response is possible; the client reconnects.
    const fail = (error: unknown): void => {
      request.log.warn({ err: error, requestId: request.id }, 'a live view of the request log failed');
      raw.end();
    };
    const listener = {
      userId: caller.userId,
      filter,
      send: (rows: readonly ListedRequest[]) =>
        void present(rows).then((shown) => write(raw, shown.map(toEvent).join('')), fail),
      keepAlive: () => write(raw, ': keep-alive\n\n'),
      end: () => void raw.end(),
    };
    const close = await liveViews.open(listener).catch(fail);
    if (close === undefined) return reply;
    // Sent with the head: a client lists the calls it missed once it has the head, and the view must not begin later.
    write(raw, ': open\n\n');
    const end = (): void => {
      close();
      raw.end();
    };
    if (ended.aborted) end();
    else ended.addEventListener('abort', end, { once: true });
    return reply;
  };
  routes.add(streamRequests, (input) => stream(ownFilter(input.query, input.caller), input, own));
  routes.add(streamAllRequests, (input) => stream(toFilter(input.query), input, all));
}

const toEvent = (row: object): string => `event: request\ndata: ${JSON.stringify(row)}\n\n`;

function write(response: ServerResponse, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  if (response.writableLength > MAX_UNSENT_BYTES) response.destroy();
  else response.write(text);
}

interface ReceiptRouteDependencies {
  readonly receipts: ReceiptService;
  /** Internal id of a video submitted with the token. */
  readonly findVideo: (publicId: string, tokenId: number) => Promise<string | undefined>;
}

/** Registers the receipts of calls and videos. */
export function addReceiptRoutes(routes: RouteRegistry, { receipts, findVideo }: ReceiptRouteDependencies): void {
  routes.add(getReceipt, async ({ params, caller }) => {
    const receipt = await receipts.find(params.ref, caller.role === 'user' ? caller.userId : undefined);
    if (receipt === undefined) throw notExistError('receipt');
    return ok(receipt);
  });

  routes.add(getTokenReceipt, async ({ params, caller }) => {
    const receipt = await receipts.find(params.ref, caller.userId, caller.tokenId);
    if (receipt === undefined) throw notExistError('receipt');
    return receipt;
  });

  routes.add(getVideoReceipt, async ({ params, caller }) => {
    const id = await findVideo(params.task_id, caller.tokenId);
    const receipt = id === undefined ? undefined : await receipts.find(id, caller.userId);
    if (receipt === undefined) throw new AppError('task_not_exist');
    return receipt;
  });
}

/** Filters as query parameters. */
type FilterQuery = Pick<RequestFilter, 'model' | 'status' | 'kind'> & {
  readonly [Name in 'from' | 'to' | 'token_id' | 'user_id' | 'channel_id']?: string;
};

const toNumber = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const toMs = (seconds: string | undefined): number | undefined =>
  seconds === undefined ? undefined : Number(seconds) * 1_000;

const toFilter = ({ model, status, kind, ...numbers }: FilterQuery): RequestFilter =>
  defined({
    model,
    status,
    kind,
    tokenId: toNumber(numbers.token_id),
    userId: toNumber(numbers.user_id),
    channelId: toNumber(numbers.channel_id),
    from: toMs(numbers.from),
    to: toMs(numbers.to),
  });

const ownFilter = (query: FilterQuery, { userId }: AccountCaller): RequestFilter => ({
  ...toFilter(query),
  userId,
});

/** Converts rows to their form in a response. */
type Present<R> = (rows: readonly ListedRequest[]) => Promise<readonly R[]>;

/** @param ref the reference known to its owner: for videos the public id */
const toRequest = (row: ListedRequest, ref: string): Static<typeof RequestRow> => ({
  ref,
  time: toSeconds(row.created_at),
  kind: row.kind,
  model: row.model,
  token_id: row.token_id,
  token_name: row.token_name ?? '',
  status: row.status,
  error_code: row.error_code,
  input_tokens: row.input_tokens,
  cached_tokens: row.cached_tokens,
  output_tokens: row.output_tokens,
  seconds: row.seconds,
  quota: row.quota,
  duration_ms: row.duration_ms,
  first_token_ms: row.first_token_ms,
  stream: row.stream === 1,
  client: row.client,
  submitted_by: row.actor_name ?? '',
});

const toAdminRequest = (row: ListedRequest, ref: string): Static<typeof AdminRequestRow> => ({
  ...toRequest(row, ref),
  user_id: row.user_id,
  organization: row.organization ?? '',
  channel_id: row.channel_id,
  served_model: row.served_model,
});

/** `1732300000000.17`, as returned in `next`. */
function parseCursor(text: string | undefined): RequestCursor | undefined {
  if (text === undefined) return undefined;
  const [createdAt, seq] = text.split('.');
  return { createdAt: Number(createdAt), seq: Number(seq) };
}
const formatCursor = ({ created_at, seq }: Pick<ListedRequest, 'created_at' | 'seq'>): string => `${created_at}.${seq}`;

function toStatistics(group: GroupFigures) {
  const { requests, succeeded, cancelled } = group;
  const decided = requests - cancelled;
  return {
    key: String(group.key),
    name: group.name ?? '',
    requests,
    succeeded,
    success_rate: decided === 0 ? 1 : Math.round((succeeded / decided) * 10_000) / 10_000,
    p50_ms: group.p50,
    p95_ms: group.p95,
    first_token_p50_ms: group.firstP50,
    first_token_p95_ms: group.firstP95,
    quota: group.quota,
  };
}

const PAGE_SIZE = 500;
const MAX_ROWS = 50_000;

/**
 * The rows as CSV, page by page, so that an export of any length holds one page in memory. Cells that a spreadsheet
 * would run as a formula are escaped, because clients choose their own names.
 *
 * @param present converts a page to its form in the export
 */
async function* toCsv<R extends object>(
  store: Pick<RequestStore, 'list'>,
  filter: RequestFilter,
  present: (rows: readonly ListedRequest[]) => Promise<readonly R[]>,
  columns: readonly (keyof R & string)[],
): AsyncGenerator<string> {
  yield stringify([[...columns]], { bom: true, record_delimiter: '\r\n' });
  let last: ListedRequest | undefined;
  for (let count = 0; count < MAX_ROWS; count += PAGE_SIZE) {
    const after = last && { createdAt: last.created_at, seq: last.seq };
    const rows = await store.list(filter, after, PAGE_SIZE);
    yield stringify([...(await present(rows))], {
      columns: [...columns],
      escape_formulas: true,
      record_delimiter: '\r\n',
      cast: { boolean: String },
    });
    last = rows.at(-1);
    if (rows.length < PAGE_SIZE) return;
  }
}
