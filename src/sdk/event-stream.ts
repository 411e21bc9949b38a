import { createParser } from 'eventsource-parser';
import { parseErrorResponse, ReelgateError } from './errors.ts';
import { sleep } from './transport.ts';

/** @internal */
export interface ServerEvent {
  /** Empty for an event without a name. */
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Longest silence before the connection counts as dead; the service sends a heartbeat at least every 20 seconds. */
const SILENCE_TIMEOUT_MS = 60_000;
const FIRST_WAIT_MS = 3_000;
const MAX_WAIT_MS = 60_000;

/** @internal Opens one connection; the signal ends it. */
type OpenStream = (signal: AbortSignal) => Promise<Response>;

/**
 * @internal
 * Yields events until the signal is aborted, reopening lost connections with increasing delays.
 *
 * @param open called for each connection
 * @param toItems converts the events of one connection to items
 * @throws ReelgateError when the service refuses permanently
 */
export async function* followEventStream<Item>(
  open: OpenStream,
  toItems: (events: AsyncIterable<ServerEvent>) => AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const item of toItems(readConnection(open, signal))) {
        waitMs = FIRST_WAIT_MS;
        yield item;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ReelgateError && error.status >= 400 && error.status < 500 && !error.isTransient)
        throw error;
    }
    await sleep(waitMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
  }
}

/** Reads one connection until it ends. */
async function* readConnection(open: OpenStream, signal: AbortSignal): AsyncGenerator<ServerEvent, void> {
  const silent = new AbortController();
  const startTimer = () => setTimeout(() => silent.abort(), SILENCE_TIMEOUT_MS);
  let timer = startTimer();
  const events: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event = '', id = '', data }) => void events.push({ event, id, data }) });
  try {
    const body = await bodyOf(await open(AbortSignal.any([signal, silent.signal])));
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = startTimer();
      parser.feed(value);
      yield* events.splice(0);
    }
  } finally {
    clearTimeout(timer);
    // Runs when the consumer stops early: closes the connection.
    silent.abort();
  }
}

async function bodyOf(response: Response): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (response.ok && response.body !== null) return response.body;
  const errorBody: unknown = await response.json().catch(() => undefined);
  throw (
    parseErrorResponse(response.status, response.headers, errorBody) ??
    new ReelgateError('The service sent no stream.', { status: response.status, code: 'not_a_stream' })
  );
}
