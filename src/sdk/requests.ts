import type { Endpoint, EndpointPart } from '../contract/endpoint.ts';
import type { RequestKind, RequestStatus } from '../contract/request-kinds.ts';
import * as endpoints from '../contract/request-log.ts';
import { getReceipt, getTokenReceipt, type streamAllRequests, type streamRequests } from '../contract/request-log.ts';
import { throwForStatus } from './errors.ts';
import { followEventStream, type ServerEvent, type StreamOptions } from './event-stream.ts';
import type { CallOptions, CursorResult, Transport } from './transport.ts';

/** A finished model call or video, with its cost. */
export type RequestInfo = EndpointPart<typeof endpoints.listRequests, 'response'>['data'][number];
/** Success rate, durations and cost of a model or key. */
export type RequestStatistics = EndpointPart<typeof endpoints.getRequestStatistics, 'response'>['data'][number];

/** Cost of a call or video, line by line. */
export type ReceiptInfo = EndpointPart<typeof getReceipt, 'response'>['data'];

/** Filters of the call list; none lists every call. */
export interface RequestQuery {
  /** Id of the model. */
  readonly model?: string;
  /** Id of the API key. */
  readonly tokenId?: number;
  /** Outcome of the call. */
  readonly status?: RequestStatus;
  /** Type of the call. */
  readonly kind?: RequestKind;
  /** Calls that ended at this time or later; Unix seconds. */
  readonly from?: number;
  /** Calls that ended before this time; Unix seconds. */
  readonly to?: number;
}

const toFilter = ({ tokenId, from, to, ...rest }: RequestQuery) => ({
  ...rest,
  token_id: tokenId?.toString(),
  from: from?.toString(),
  to: to?.toString(),
});

/** A page of a list that grows at the top. */
export interface CursorPage {
  /** `next` of the previous page. */
  readonly after?: string;
  /** Rows per page, at most 100. */
  readonly limit?: number;
}

/** Finished model calls and videos of the account, regardless of the key. */
export class Requests {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. @throws ReelgateError `unauthorized` */
  async list(
    query: RequestQuery = {},
    page: CursorPage = {},
    options: CallOptions = {},
  ): Promise<CursorResult<RequestInfo>> {
    const paging = { after: page.after, limit: page.limit?.toString() };
    return this.#transport.call(endpoints.listRequests, { query: { ...toFilter(query), ...paging } }, options);
  }

  /**
   * Calls and videos as they end, until the signal is aborted. Those that end while the connection is lost follow once
   * it is open again.
   *
   * @throws ReelgateError when the service refuses permanently
   */
  follow(query: RequestQuery, options: FollowRequestsOptions): AsyncGenerator<RequestInfo, void> {
    const { listRequests: list, streamRequests: live } = endpoints;
    return followRequests(this.#transport, { list, live }, toFilter(query), options);
  }

  /**
   * Cost of a call or video, line by line. @param ref task id or request id.
   *
   * @throws ReelgateError `refused` (not_exist)
   */
  async receipt(ref: string): Promise<ReceiptInfo> {
    return (await this.#transport.call(getReceipt, { params: { ref } })).data;
  }

  /** Like `receipt`, for calls made with this API key. @throws ReelgateError `not_exist` */
  receiptOfKey(ref: string): Promise<ReceiptInfo> {
    return this.#transport.call(getTokenReceipt, { params: { ref } });
  }

  /** Success rate, durations and cost by model or by key. @throws ReelgateError `unauthorized` */
  async statistics(by: 'model' | 'token' = 'model', query: RequestQuery = {}): Promise<RequestStatistics[]> {
    return (await this.#transport.call(endpoints.getRequestStatistics, { query: { ...toFilter(query), by } })).data;
  }
}

/** Start and end of a live view of the request log. */
export interface FollowRequestsOptions extends StreamOptions {
  /**
   * The newest calls, as `list` returned them for the same query: those that have ended since come first. Default: only
   * calls that end from now on.
   */
  readonly since?: readonly Pick<RequestInfo, 'ref'>[];
}

/** Refs by which repeated rows are recognized. */
const MAX_KNOWN = 10_000;
const PAGE_SIZE = '100';

/**
 * @internal
 * Yields rows of the request log as calls end, until the signal is aborted. Calls that end while a lost connection is
 * being reopened are listed afterwards, so that none is missing or repeated.
 *
 * @throws ReelgateError when the service refuses permanently
 */
export async function* followRequests<Row extends { readonly ref: string }>(
  transport: Pick<Transport, 'send'>,
  { list, live }: { readonly list: Endpoint; readonly live: typeof streamRequests | typeof streamAllRequests },
  query: EndpointPart<typeof streamAllRequests, 'query'>,
  { since, ...duration }: FollowRequestsOptions,
): AsyncGenerator<Row, void> {
  const known = new Set(since?.map(({ ref }) => ref));
  let isStarted = since !== undefined;
  const readPage = async (page: { readonly limit: string; readonly after?: string | undefined }) => {
    const sent = transport.send(list, { query: { ...query, ...page } }, { signal: duration.signal });
    return (await (await throwForStatus(await sent)).json()) as CursorResult<Row>;
  };
  const open = async (during: AbortSignal): Promise<Response> => {
    // A lost connection before the first call would otherwise leave nothing to continue from.
    if (!isStarted) for (const { ref } of (await readPage({ limit: '1' })).data) known.add(ref);
    isStarted = true;
    return transport.send(live as Endpoint, { query }, { signal: during, headers: { accept: 'text/event-stream' } });
  };
  const listMissed = async (): Promise<Row[]> => {
    const missed: Row[] = [];
    for (let after: string | undefined; ; ) {
      const { data, next } = await readPage({ limit: PAGE_SIZE, after });
      const last = data.findLastIndex(({ ref }) => known.has(ref));
      missed.push(...data.slice(0, last === -1 ? undefined : last).filter(({ ref }) => !known.has(ref)));
      if (last !== -1 || next === null) return missed.toReversed();
      after = next;
    }
  };
  async function* toRows(events: AsyncIterable<ServerEvent>): AsyncGenerator<Row, void> {
    for await (const { event, data } of events)
      if (event === 'open') yield* await listMissed();
      else if (event === 'request') yield JSON.parse(data) as Row;
  }
  for await (const row of followEventStream(open, toRows, duration)) {
    if (known.has(row.ref)) continue;
    known.add(row.ref);
    for (const ref of known) {
      if (known.size <= MAX_KNOWN) break;
      known.delete(ref);
    }
    yield row;
  }
}
