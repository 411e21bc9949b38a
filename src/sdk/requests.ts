import type { Endpoint, EndpointPart } from '../contract/endpoint.ts';
import type { RequestKind, RequestStatus } from '../contract/request-kinds.ts';
import * as endpoints from '../contract/request-log.ts';
import { getReceipt, getTokenReceipt, type streamAllRequests, type streamRequests } from '../contract/request-log.ts';
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
   * Yields calls as they end, until the signal is aborted; lost connections are reopened. Calls that end in between are
   * only in the list.
   *
   * @throws ReelgateError when the service refuses permanently
   */
  follow(query: RequestQuery, options: StreamOptions): AsyncGenerator<RequestInfo, void> {
    return followRequests(this.#transport, endpoints.streamRequests, toFilter(query), options);
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

/**
 * @internal
 * Yields rows of the request log as calls end, until the signal is aborted. Calls that end while a lost connection is
 * being reopened are missing.
 *
 * @throws ReelgateError when the service refuses permanently
 */
export function followRequests<Row>(
  transport: Pick<Transport, 'send'>,
  endpoint: typeof streamRequests | typeof streamAllRequests,
  query: EndpointPart<typeof streamAllRequests, 'query'>,
  options: StreamOptions,
): AsyncGenerator<Row, void> {
  const headers = { accept: 'text/event-stream' };
  const open = (during: AbortSignal) => transport.send(endpoint as Endpoint, { query }, { signal: during, headers });
  return followEventStream(open, toRows<Row>, options);
}

async function* toRows<Row>(events: AsyncIterable<ServerEvent>): AsyncGenerator<Row, void> {
  for await (const { event, data } of events) if (event === 'request') yield JSON.parse(data) as Row;
}
