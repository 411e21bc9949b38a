import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/notifications.ts';
import { defined } from '../contract/objects.ts';
import { type FollowOptions, followNotifications } from './notification-stream.ts';
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
