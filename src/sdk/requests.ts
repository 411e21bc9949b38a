import type { Endpoint, EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import { getReceipt, getTokenReceipt } from '../contract/receipts.ts';
import type { RequestKind, RequestStatus } from '../contract/request-kinds.ts';
import type { streamAllRequests, streamRequests } from '../contract/request-log.ts';
import * as endpoints from '../contract/request-log.ts';
import { followStream, type ServerEvent } from './event-stream.ts';
import type { CallOptions, CursorResult, Transport } from './transport.ts';

/** A model call or video that has ended, with its cost. */
export type RequestInfo = EndpointPart<typeof endpoints.listRequests, 'response'>['data'][number];
/** Success rate, durations and cost of a model or key. */
export type RequestStatistics = EndpointPart<typeof endpoints.getRequestStatistics, 'response'>['data'][number];

/** What a call or video cost, line by line. */
export type ReceiptInfo = EndpointPart<typeof getReceipt, 'response'>['data'];

/** Which calls to list; without a condition all of them. */
export interface RequestQuery {
  /** Id of the model. */
  readonly model?: string;
  /** Id of the API key. */
  readonly tokenId?: number;
  /** How the call ended. */
  readonly status?: RequestStatus;
  /** What was called. */
  readonly kind?: RequestKind;
  /** Ended at this time or later; Unix seconds. */
  readonly from?: number;
  /** Ended before this time; Unix seconds. */
  readonly to?: number;
}

const toFilter = ({ tokenId, from, to, ...rest }: RequestQuery) =>
  defined({ ...rest, token_id: tokenId?.toString(), from: from?.toString(), to: to?.toString() });

/** A page of a list that grows at its top. */
export interface CursorPage {
  /** `next` of the page before. */
  readonly after?: string;
  /** Rows of the page, at most 100. */
  readonly limit?: number;
}

/** Model calls and videos of the account that have ended, whichever key made them. */
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
    const paging = defined({ after: page.after, limit: page.limit?.toString() });
    return this.#transport.call(endpoints.listRequests, { query: { ...toFilter(query), ...paging } }, options);
  }

  /**
   * Calls as they end, until the signal is aborted; a lost connection is reopened.
   *
   * @throws ReelgateError when the service refuses permanently
   */
  follow(query: RequestQuery, signal: AbortSignal): AsyncGenerator<RequestInfo, void> {
    return followRequests(this.#transport, endpoints.streamRequests, toFilter(query), signal);
  }

  /** What a call or video cost, line by line. @param ref task id or request id. @throws ReelgateError `not_exist` */
  async receipt(ref: string): Promise<ReceiptInfo> {
    return (await this.#transport.call(getReceipt, { params: { ref } })).data;
  }

  /** The same for what this API key called itself. @throws ReelgateError `not_exist` */
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
 * Rows of the request log as calls end, until the signal is aborted. What ended while a lost connection was reopened is
 * missing.
 *
 * @throws ReelgateError when the service refuses permanently
 */
export function followRequests<Row>(
  transport: Pick<Transport, 'send'>,
  endpoint: typeof streamRequests | typeof streamAllRequests,
  query: EndpointPart<typeof streamAllRequests, 'query'>,
  signal: AbortSignal,
): AsyncGenerator<Row, void> {
  const headers = { accept: 'text/event-stream' };
  const open = (during: AbortSignal) => transport.send(endpoint as Endpoint, { query }, { signal: during, headers });
  return followStream(open, toRows<Row>, signal);
}

async function* toRows<Row>(events: AsyncIterable<ServerEvent>): AsyncGenerator<Row, void> {
  for await (const { event, data } of events) if (event === 'request') yield JSON.parse(data) as Row;
}
