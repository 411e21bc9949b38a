import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/notifications.ts';
import { streamNotifications } from '../contract/notifications.ts';
import { followEventStream, type ServerEvent, type StreamOptions } from './event-stream.ts';
import type { CallOptions, Transport } from './transport.ts';

/** A notification. */
export type NotificationInfo = Static<typeof endpoints.Notification>;
/** A page of notifications. */
export type NotificationPage = Omit<EndpointPart<typeof endpoints.listNotifications, 'response'>, 'success'>;
/** Schedule and language of notification e-mails. */
export type MailSettings = EndpointPart<typeof endpoints.getMailSettings, 'response'>['data'];
/** E-mail settings to change; omitted ones are kept. */
export type MailSettingsChange = EndpointPart<typeof endpoints.putMailSettings, 'body'>;
/** Whether a topic is shown and e-mailed. */
export type Preference = EndpointPart<typeof endpoints.getPreferences, 'response'>['data'][number];

/** `user`: without administrators' notifications; default: everything the account may see. */
export type Audience = 'user';

/** Filters of the notification list. */
export interface NotificationQuery {
  /** Page number, starting at 1; default 1. */
  readonly page?: number;
  /** Rows per page, at most 50; default 20. */
  readonly pageSize?: number;
  /** Omits notifications that were read. */
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
      /** Id from which another stream would resume. */
      readonly id: string;
      /** The new notification. */
      readonly notification: NotificationInfo;
    }
  | {
      /** The number of unread notifications changed. */
      readonly kind: 'unread';
      /** Id from which another stream would resume. */
      readonly id: string;
      /** Current number of unread notifications. */
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
    const filters = {
      page: String(page),
      page_size: String(pageSize),
      status: onlyUnread ? 'unread' : undefined,
      audience,
    };
    return this.#transport.call(endpoints.listNotifications, { query: filters }, options);
  }

  /** Number of unread notifications. @throws ReelgateError `unauthorized` */
  async unreadCount(audience?: Audience): Promise<number> {
    return (await this.#transport.call(endpoints.countUnread, { query: { audience } })).data;
  }

  /**
   * Number of open tickets and beta applications; 0 for accounts that are not administrators.
   *
   * @throws ReelgateError `unauthorized`
   */
  async pendingCount(): Promise<number> {
    return (await this.#transport.call(endpoints.countPending, {})).data;
  }

  /** Marks one notification as read. @throws ReelgateError `refused` (notification_invalid) */
  async markRead(id: number): Promise<void> {
    await this.#transport.call(endpoints.markRead, { params: { id: String(id) } });
  }

  /** Marks every notification as read. @throws ReelgateError `unauthorized` */
  async markAllRead(audience?: Audience): Promise<void> {
    await this.#transport.call(endpoints.markAllRead, { query: { audience } });
  }

  /** Topics, and whether each is shown and e-mailed. @throws ReelgateError `unauthorized` */
  async preferences(): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.getPreferences, {})).data;
  }

  /**
   * Switches topics on or off, in the console (`topics`) and by e-mail; other topics keep their setting.
   *
   * @throws ReelgateError `refused` (topic_locked), `invalid_request`
   */
  async setPreferences(
    topics: Readonly<Record<string, boolean>>,
    mail: Readonly<Record<string, boolean>> = {},
  ): Promise<Preference[]> {
    return (await this.#transport.call(endpoints.putPreferences, { body: { topics, mail } })).data;
  }

  /** Schedule and language of notification e-mails. @throws ReelgateError `unauthorized` */
  async mailSettings(): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.getMailSettings, {})).data;
  }

  /** Changes the given e-mail settings. @throws ReelgateError `invalid_request` */
  async setMailSettings(change: MailSettingsChange): Promise<MailSettings> {
    return (await this.#transport.call(endpoints.putMailSettings, { body: change })).data;
  }

  /**
   * Yields every notification from now on (or after an event), across lost connections, until the signal is aborted.
   * Fetch the list after a `gap`, because earlier notifications are not repeated.
   *
   * @throws ReelgateError if the client is not signed in
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
  /** Id from which another stream would resume; empty for a gap. */
  readonly id: string;
  /** JSON of the event; empty for a gap. */
  readonly data: string;
}

/** Start and end of a notification stream. */
export interface FollowOptions extends StreamOptions {
  /** Last event received; if omitted, the stream starts now, with a gap. */
  readonly lastEventId?: string;
  /** `user`: without administrators' notifications. */
  readonly audience?: 'user';
}

/**
 * @internal
 * Yields an account's notifications as they arrive, until the signal is aborted. A lost connection resumes after the
 * last event, so that no notification is lost or duplicated.
 *
 * @throws ReelgateError when the service refuses permanently, because the client is not signed in
 */
export async function* followNotifications(
  transport: Pick<Transport, 'send'>,
  { lastEventId, audience, ...duration }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  let last = lastEventId;
  const headers = { accept: 'text/event-stream' };
  const open = (during: AbortSignal) =>
    transport.send(streamNotifications, { query: { audience, last_event_id: last } }, { signal: during, headers });
  for await (const event of followEventStream(
    open,
    (events) => toNotifications(events, last !== undefined),
    duration,
  )) {
    if (event.id !== '') last = event.id;
    yield event;
  }
}

/** @param isResumed omits the gap before the first event */
async function* toNotifications(
  events: AsyncIterable<ServerEvent>,
  isResumed: boolean,
): AsyncGenerator<StreamEvent, void> {
  let started = isResumed;
  for await (const { event, id, data } of events) {
    if (event !== 'notification' && event !== 'unread') continue;
    // The first event marks the start of this stream; by then the lists contain all earlier notifications.
    if (!started) yield { kind: 'gap', id: '', data: '' };
    started = true;
    yield { kind: event, id, data };
  }
}
