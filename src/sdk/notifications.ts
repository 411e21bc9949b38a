import type { Static } from 'typebox';
import type { PartOf } from '../contract/endpoint.ts';
import * as lines from '../contract/notifications.ts';
import { type FollowOptions, followNotifications } from './notification-stream.ts';
import type { CallOptions, Transport } from './transport.ts';

export type NotificationInfo = Static<typeof lines.Notification>;
export type NotificationPage = Omit<PartOf<typeof lines.listNotifications, 'answer'>, 'success'>;
export type Preference = PartOf<typeof lines.getPreferences, 'answer'>['data'][number];

/** `user`: without the to-dos of administrators; left out: all one may see. */
export type Audience = 'user';

export interface NotificationQuery {
  /** From 1. */
  readonly page?: number;
  /** At most 50. */
  readonly pageSize?: number;
  readonly onlyUnread?: boolean;
  readonly audience?: Audience;
}

/** What the stream brings; `id` is where another stream would go on. */
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
    const asked = {
      page: String(page),
      page_size: String(pageSize),
      ...(onlyUnread ? { status: 'unread' } : {}),
      ...toQuery(audience),
    };
    return this.#transport.call(lines.listNotifications, { query: asked }, options);
  }

  async unreadCount(audience?: Audience): Promise<number> {
    return (await this.#transport.call(lines.countUnread, { query: toQuery(audience) })).data;
  }

  /** Unprocessed tickets and beta applications; 0 for whoever is no administrator. */
  async pendingCount(): Promise<number> {
    return (await this.#transport.call(lines.countPending, {})).data;
  }

  /** @throws ReelgateError when it is none of the account's */
  async markRead(id: number): Promise<void> {
    await this.#transport.call(lines.markRead, { params: { id: String(id) } });
  }

  async markAllRead(audience?: Audience): Promise<void> {
    await this.#transport.call(lines.markAllRead, { query: toQuery(audience) });
  }

  async preferences(): Promise<Preference[]> {
    return (await this.#transport.call(lines.getPreferences, {})).data;
  }

  /** Switches topics on or off; the others stay. */
  async prefer(topics: Readonly<Record<string, boolean>>): Promise<Preference[]> {
    return (await this.#transport.call(lines.putPreferences, { body: { topics } })).data;
  }

  /**
   * Everything that arrives from now on (or after an event), through broken connections, until the signal ends it. After a
   * `gap` ask for the list: what was told before it does not come.
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

const toQuery = (audience: Audience | undefined) => (audience === undefined ? {} : { audience });
