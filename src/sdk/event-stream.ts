import { createParser } from 'eventsource-parser';
import { ReelgateError, throwForStatus } from './errors.ts';
import { sleep } from './transport.ts';

/** @internal */
export interface ServerEvent {
  /** Empty for an event without a name. */
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Duration of a stream that is followed across lost connections. */
export interface StreamOptions {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called when the connection was lost, or could not be opened; it is opened again. */
  readonly onConnectionLost?: (error: ReelgateError) => void;
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
  { signal, onConnectionLost }: StreamOptions,
): AsyncGenerator<Item, void> {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    let loss: unknown;
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
      loss = error;
    }
    if (signal.aborted) return;
    onConnectionLost?.(
      loss instanceof ReelgateError
        ? loss
        : new ReelgateError('The connection to the service was lost.', { code: 'network', cause: loss }),
    );
    await sleep(waitMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
  }
}

/** Reads one connection until it ends. The first event is `open`, once the service has accepted the connection. */
async function* readConnection(open: OpenStream, signal: AbortSignal): AsyncGenerator<ServerEvent, void> {
  const silent = new AbortController();
  const startTimer = () => setTimeout(() => silent.abort(silenceError()), SILENCE_TIMEOUT_MS);
  let timer = startTimer();
  const events: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event = '', id = '', data }) => void events.push({ event, id, data }) });
  try {
    const { body, status, headers } = await throwForStatus(await open(AbortSignal.any([signal, silent.signal])));
    if (body === null || headers.get('content-type')?.startsWith('text/event-stream') !== true)
      throw new ReelgateError('The service sent no stream.', { status, code: 'not_a_stream' });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    yield { event: 'open', id: '', data: '' };
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

const silenceError = (): ReelgateError =>
  new ReelgateError('The service sent nothing for a minute, or a proxy holds the events back.', { code: 'network' });
