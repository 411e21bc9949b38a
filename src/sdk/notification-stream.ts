import { createParser } from 'eventsource-parser';
import { streamNotifications } from '../contract/notifications.ts';
import { ReelgateError, readFailure } from './errors.ts';
import { pause, type Transport } from './transport.ts';

/** One event of the stream; `gap`: something may have been missed, so that what is shown must be asked for again. */
export interface StreamEvent {
  readonly kind: 'notification' | 'unread' | 'gap';
  /** Where to go on from; empty of a gap. */
  readonly id: string;
  /** The event's JSON; empty of a gap. */
  readonly data: string;
}

export interface FollowOptions {
  /** The last event that arrived; left out: from now on, beginning with a gap. */
  readonly lastEventId?: string | undefined;
  /** `user`: without what concerns administrators alone. */
  readonly audience?: 'user' | undefined;
  readonly signal: AbortSignal;
}

/** The service says every 20 seconds that it is there; a connection silent for longer than this is dead. */
const SILENT_MS = 60_000;
const FIRST_WAIT_MS = 3_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * What the service tells an account, as it happens, until the signal ends it. A connection that breaks is made again and
 * goes on after the last event, so nothing is missed and nothing arrives twice.
 *
 * @throws ReelgateError when the service refuses for good: nobody is signed in
 */
export async function* followNotifications(
  transport: Pick<Transport, 'send'>,
  { lastEventId, audience, signal }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  let last = lastEventId;
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const event of readOnce(transport, { lastEventId: last, audience, signal })) {
        waitMs = FIRST_WAIT_MS;
        if (event.id !== '') last = event.id;
        yield event;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ReelgateError && error.status >= 400 && error.status < 500 && !error.isPassing) throw error;
    }
    await pause(waitMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  }
}

/** One connection, to its end. */
async function* readOnce(
  transport: Pick<Transport, 'send'>,
  { lastEventId, audience, signal }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  const silence = new AbortController();
  const give = () => setTimeout(() => silence.abort(), SILENT_MS);
  let watch = give();
  let begun = lastEventId !== undefined;
  const query = {
    ...(audience === undefined ? {} : { audience }),
    ...(lastEventId === undefined ? {} : { last_event_id: lastEventId }),
  };
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, id = '', data }) => {
      if (event === 'notification' || event === 'unread') events.push({ kind: event, id, data });
    },
  });
  try {
    const body = await open(transport, query, AbortSignal.any([signal, silence.signal]));
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = give();
      parser.feed(value);
      // With its first event the service has settled where this stream begins: what was told before is in the lists by then.
      if (!begun && events.length > 0) yield { kind: 'gap', id: '', data: '' };
      begun ||= events.length > 0;
      yield* events.splice(0);
    }
  } finally {
    clearTimeout(watch);
    // Whoever stops listening hangs up.
    silence.abort();
  }
}

async function open(
  transport: Pick<Transport, 'send'>,
  query: { readonly audience?: string; readonly last_event_id?: string },
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const headers = { accept: 'text/event-stream' };
  const response = await transport.send(streamNotifications, { query }, { signal, headers });
  if (response.ok && response.body !== null) return response.body;
  const refusal: unknown = await response.json().catch(() => undefined);
  throw (
    readFailure(response.status, response.headers, refusal) ??
    new ReelgateError('The service sent no stream.', { status: response.status, code: 'not_a_stream' })
  );
}
