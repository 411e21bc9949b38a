import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/notifications.ts';
import { streamNotifications } from '../contract/notifications.ts';
import { defined } from '../contract/objects.ts';
import { followStream, type ServerEvent } from './event-stream.ts';
import type { CallOptions, Transport } from './transport.ts';

/** A notification. */
export type NotificationInfo = Static<typeof endpoints.Notification>;
/** A page of notifications. */
export type NotificationPage = Omit<EndpointPart<typeof endpoints.listNotifications, 'response'>, 'success'>;
/** When and in which language notifications are mailed. */
export type MailSettings = EndpointPart<typeof endpoints.getMailSettings, 'response'>['data'];
/** Settings of mails to change; the others stay. */
export type MailSettingsChange = EndpointPart<typeof endpoints.putMailSettings, 'body'>;
/** Whether a topic is shown and mailed. */
export type Preference = EndpointPart<typeof endpoints.getPreferences, 'response'>['data'][number];

/** `user`: without the notifications for administrators; default: everything the account may see. */
export type Audience = 'user';

/** Which notifications to list. */
export interface NotificationQuery {
  /** Number of the page, from 1; default 1. */
  readonly page?: number;
  /** Rows of a page, at most 50; default 20. */
  readonly pageSize?: number;
  /** Leaves out what was read. */
  readonly onlyUnread?: boolean;
  /** Default: everything the account may see. */
  readonly audience?: Audience;
}

/** An event of the stream. */
export type LiveNotification =
  | {
      /** Events may have been missed: fetch the list again. */
      readonly kind: 'gap';
    }
  | {
      /** A notification arrived. */
      readonly kind: 'notification';
      /** Where another stream would resume. */
      readonly id: string;
      /** What arrived. */
      readonly notification: NotificationInfo;
    }
  | {
      /** Notifications were read or arrived. */
      readonly kind: 'unread';
      /** Where another stream would resume. */
      readonly id: string;
      /** How many are unread now. */
      readonly unread: number;
    };

/** The notification center of the account. */
export class Notifications {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. @throws ReelgateError `unauthorized` */
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

  /** How many notifications are unread. @throws ReelgateError `unauthorized` */
  async unreadCount(audience?: Audience): Promise<number> {
    return (await this.#transport.call(endpoints.countUnread, { query: defined({ audience }) })).data;
  }

  /**
   * Open tickets and beta applications; 0 for accounts that are no administrator.
   *
   * @throws ReelgateError `unauthorized`
   */
  async pendingCount(): Promise<number> {
    return (await this.#transport.call(endpoints.countPending, {})).data;
  }

  /** Marks one notification as read. @throws ReelgateError `notification_invalid` */
  async markRead(id: number): Promise<void> {
    await this.#transport.call(endpoints.markRead, { params: { id: String(id) } });
  }

  /** Marks every notification as read. @throws ReelgateError `unauthorized` */
  async markAllRead(audience?: Audience): Promise<void> {
    await this.#transport.call(endpoints.markAllRead, { query: defined({ audience }) });
  }

  /** Topics, and whether each is shown and mailed. @throws ReelgateError `unauthorized` */
  async preferences(): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.getPreferences, {})).data;
  }

  /**
   * Turns topics on or off, in the console (`topics`) and by mail; the others keep their setting.
   *
   * @throws ReelgateError `topic_locked`, `invalid_request`
   */
  async setPreferences(
    topics: Readonly<Record<string, boolean>>,
    mail: Readonly<Record<string, boolean>> = {},
  ): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.putPreferences, { body: { topics, mail } })).data;
  }

  /** When and in which language notifications are mailed. @throws ReelgateError `unauthorized` */
  async mailSettings(): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.getMailSettings, {})).data;
  }

  /** Changes the named settings of mails. @throws ReelgateError `invalid_request` */
  async setMailSettings(change: MailSettingsChange): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.putMailSettings, { body: change })).data;
  }

  /**
   * Everything that arrives from now on (or after an event), across lost connections, until the signal is aborted.
   * After a `gap` fetch the list: notifications before it are not repeated.
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

/** @internal One event of the stream; `gap`: events may have been missed, so cached lists must be fetched again. */
export interface StreamEvent {
  readonly kind: 'notification' | 'unread' | 'gap';
  /** Where another stream would resume; empty for a gap. */
  readonly id: string;
  /** The event's JSON; empty for a gap. */
  readonly data: string;
}

/** Where a stream of notifications begins and when it ends. */
export interface FollowOptions {
  /** The last event that was received; when omitted, the stream starts now, with a gap. */
  readonly lastEventId?: string;
  /** `user`: without the notifications for administrators. */
  readonly audience?: 'user';
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/**
 * @internal
 * Notifications of an account as they are sent, until the signal is aborted. A lost connection is reopened after the
 * last event, so that nothing is missed and nothing arrives twice.
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
