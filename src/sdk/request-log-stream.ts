import type { Endpoint, EndpointPart } from '../contract/endpoint.ts';
import type { streamAllRequests, streamRequests } from '../contract/request-log.ts';
import { followStream, type ServerEvent } from './follow-server-sent-events.ts';
import type { Transport } from './transport.ts';

/**
 * Rows of the request log as calls end, until the signal is aborted. What ended while a lost connection was reopened is missing.
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
