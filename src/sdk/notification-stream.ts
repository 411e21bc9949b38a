import { createParser } from 'eventsource-parser';
import { defined } from '../contract/defined.ts';
import { streamNotifications } from '../contract/notifications.ts';
import { parseErrorResponse, ReelgateError } from './errors.ts';
import { sleep, type Transport } from './transport.ts';

/** One event of the stream; `gap`: events may have been missed, so cached lists must be fetched again. */
export interface StreamEvent {
  readonly kind: 'notification' | 'unread' | 'gap';
  /** Where another stream would resume; empty for a gap. */
  readonly id: string;
  /** The event's JSON; empty for a gap. */
  readonly data: string;
}

export interface FollowOptions {
  /** The last event that was received; when omitted, the stream starts now, with a gap. */
  readonly lastEventId?: string | undefined;
  /** `user`: without the notifications for administrators. */
  readonly audience?: 'user' | undefined;
  readonly signal: AbortSignal;
}

/** The service sends a heartbeat every 20 seconds; a connection silent for longer than this is dead. */
const SILENCE_TIMEOUT_MS = 60_000;
const FIRST_WAIT_MS = 3_000;
const MAX_WAIT_MS = 60_000;

/**
 * Notifications of an account as they are sent, until the signal is aborted. A lost connection is reopened after the last
 * event, so that nothing is missed and nothing arrives twice.
 *
 * @throws ReelgateError when the service refuses permanently: nobody is signed in
 */
export async function* followNotifications(
  transport: Pick<Transport, 'send'>,
  { lastEventId, audience, signal }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  let last = lastEventId;
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const event of readConnection(transport, { lastEventId: last, audience, signal })) {
        waitMs = FIRST_WAIT_MS;
        if (event.id !== '') last = event.id;
        yield event;
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
async function* readConnection(
  transport: Pick<Transport, 'send'>,
  { lastEventId, audience, signal }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  const silent = new AbortController();
  const startTimer = () => setTimeout(() => silent.abort(), SILENCE_TIMEOUT_MS);
  let timer = startTimer();
  let started = lastEventId !== undefined;
  const query = defined({ audience, last_event_id: lastEventId });
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, id = '', data }) => {
      if (event === 'notification' || event === 'unread') events.push({ kind: event, id, data });
    },
  });
  try {
    const body = await openStream(transport, query, AbortSignal.any([signal, silent.signal]));
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = startTimer();
      parser.feed(value);
      // The first event marks where this stream starts: earlier notifications are in the lists by then.
      if (!started && events.length > 0) yield { kind: 'gap', id: '', data: '' };
      started ||= events.length > 0;
      yield* events.splice(0);
    }
  } finally {
    clearTimeout(timer);
    // A consumer that stops early closes the connection.
    silent.abort();
  }
}

async function openStream(
  transport: Pick<Transport, 'send'>,
  query: { readonly audience?: string; readonly last_event_id?: string },
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const headers = { accept: 'text/event-stream' };
  const response = await transport.send(streamNotifications, { query }, { signal, headers });
  if (response.ok && response.body !== null) return response.body;
  const errorBody: unknown = await response.json().catch(() => undefined);
  throw (
    parseErrorResponse(response.status, response.headers, errorBody) ??
    new ReelgateError('The service sent no stream.', { status: response.status, code: 'not_a_stream' })
  );
}
