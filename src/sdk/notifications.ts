import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/notifications.ts';
import { streamNotifications } from '../contract/notifications.ts';
import { defined } from '../contract/objects.ts';
import { followStream, type ServerEvent } from './event-stream.ts';
import type { CallOptions, Transport } from './transport.ts';

export type NotificationInfo = Static<typeof endpoints.Notification>;
export type NotificationPage = Omit<EndpointPart<typeof endpoints.listNotifications, 'response'>, 'success'>;
export type MailSettings = EndpointPart<typeof endpoints.getMailSettings, 'response'>['data'];
export type MailSettingsChange = EndpointPart<typeof endpoints.putMailSettings, 'body'>;
export type Preference = EndpointPart<typeof endpoints.getPreferences, 'response'>['data'][number];

/** `user`: without the notifications for administrators; default: everything the account may see. */
export type Audience = 'user';

export interface NotificationQuery {
  /** From 1. */
  readonly page?: number;
  /** At most 50. */
  readonly pageSize?: number;
  readonly onlyUnread?: boolean;
  readonly audience?: Audience;
}

/** An event of the stream; `id` is where another stream would resume. */
export type LiveNotification =
  | { readonly kind: 'gap' }
  | { readonly kind: 'notification'; readonly id: string; readonly notification: NotificationInfo }
  | { readonly kind: 'unread'; readonly id: string; readonly unread: number };

/** The notification center of the account. */
export class Notifications {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. */
  list(query: NotificationQuery = {}, options: CallOptions = {}): Promise<NotificationPage> {
    const { page = 1, pageSize = 20, onlyUnread = false, audience } = query;
    const filters = defined({
      page: String(page),
      page_size: String(pageSize),
      status: onlyUnread ? 'unread' : undefined,
      audience,
    });
    return this.#transport.call(endpoints.listNotifications, { query: filters }, options);
  }

  async unreadCount(audience?: Audience): Promise<number> {
    return (await this.#transport.call(endpoints.countUnread, { query: defined({ audience }) })).data;
  }

  /** Open tickets and beta applications; 0 for accounts that are no administrator. */
  async pendingCount(): Promise<number> {
    return (await this.#transport.call(endpoints.countPending, {})).data;
  }

  /** @throws ReelgateError when the account has no such notification */
  async markRead(id: number): Promise<void> {
    await this.#transport.call(endpoints.markRead, { params: { id: String(id) } });
  }

  async markAllRead(audience?: Audience): Promise<void> {
    await this.#transport.call(endpoints.markAllRead, { query: defined({ audience }) });
  }

  async preferences(): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.getPreferences, {})).data;
  }

  /** Turns topics on or off, in the console (`topics`) and by mail; the others keep their setting. */
  async setPreferences(
    topics: Readonly<Record<string, boolean>>,
    mail: Readonly<Record<string, boolean>> = {},
  ): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.putPreferences, { body: { topics, mail } })).data;
  }

  /** When and in which language notifications are mailed. */
  async mailSettings(): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.getMailSettings, {})).data;
  }

  /** Changes the named settings of mails. */
  async setMailSettings(change: MailSettingsChange): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.putMailSettings, { body: change })).data;
  }

  /**
   * Everything that arrives from now on (or after an event), across lost connections, until the signal is aborted. After a
   * `gap` fetch the list: notifications before it are not repeated.
   *
   * @throws ReelgateError when nobody is signed in
   */
  async *follow(options: FollowOptions): AsyncGenerator<LiveNotification, void> {
    for await (const { kind, id, data } of followNotifications(this.#transport, options)) {
      if (kind === 'gap') yield { kind };
      else if (kind === 'unread')
        yield { kind, id, unread: (JSON.parse(data) as { unread_count: number }).unread_count };
      else yield { kind, id, notification: JSON.parse(data) as NotificationInfo };
    }
  }
}

/** One event of the stream; `gap`: events may have been missed, so cached lists must be fetched again. */
export interface StreamEvent {
  readonly kind: 'notification' | 'unread' | 'gap';
  /** Where another stream would resume; empty for a gap. */
  readonly id: string;
  /** The event's JSON; empty for a gap. */
  readonly data: string;
}

interface FollowOptions {
  /** The last event that was received; when omitted, the stream starts now, with a gap. */
  readonly lastEventId?: string;
  /** `user`: without the notifications for administrators. */
  readonly audience?: 'user';
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
