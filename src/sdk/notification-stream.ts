import { streamNotifications } from '../contract/notifications.ts';
import { defined } from '../contract/objects.ts';
import { followStream, type ServerEvent } from './follow-server-sent-events.ts';
import type { Transport } from './transport.ts';

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
  const headers = { accept: 'text/event-stream' };
  const open = (during: AbortSignal) =>
    transport.send(
      streamNotifications,
      { query: defined({ audience, last_event_id: last }) },
      { signal: during, headers },
    );
  for await (const event of followStream(open, (events) => toNotifications(events, last !== undefined), signal)) {
    if (event.id !== '') last = event.id;
    yield event;
  }
}

/** @param isResumed without a gap before the first event */
async function* toNotifications(
  events: AsyncIterable<ServerEvent>,
  isResumed: boolean,
): AsyncGenerator<StreamEvent, void> {
  let started = isResumed;
  for await (const { event, id, data } of events) {
    if (event !== 'notification' && event !== 'unread') continue;
    // The first event marks where this stream starts: earlier notifications are in the lists by then.
    if (!started) yield { kind: 'gap', id: '', data: '' };
    started = true;
    yield { kind: event, id, data };
  }
}
