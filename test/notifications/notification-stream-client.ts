import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { TestUser } from '../accounts/test-user-client.ts';

/** A server-sent event with its parsed data. */
export interface ReceivedEvent {
  readonly event: string;
  readonly id: string;
  readonly data: {
    readonly id?: number;
    readonly title?: string;
    readonly content?: string;
    readonly unread_count?: number;
  };
}

/** One connection to the stream, as a client opens it. */
export class NotificationStreamClient {
  readonly events: ReceivedEvent[] = [];
  readonly #controller = new AbortController();
  readonly done: Promise<void>;
  status = 0;
  lastId = '';

  constructor(url: string, person: TestUser, lastEventId?: string) {
    this.done = this.#run(url, person, lastEventId).catch(() => {});
  }

  async #run(url: string, person: TestUser, lastEventId?: string): Promise<void> {
    const response = await fetch(`${url}/api/notifications/stream`, {
      headers: {
        cookie: `session=${person.cookies.get('session')}`,
        'service-api-user': String(person.id),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: this.#controller.signal,
    });
    this.status = response.status;
    const parser = createParser({
      onEvent: ({ event = '', id = '', data }) => {
        this.lastId = id;
        this.events.push({ event, id, data: JSON.parse(data) });
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  }

  titles(): (string | undefined)[] {
    return this.events.filter(({ event }) => event === 'notification').map(({ data }) => data.title);
  }
  unread(): number | undefined {
    return this.events.findLast(({ event }) => event === 'unread')?.data.unread_count;
  }

  /** Waits, at most ten seconds. */
  async waitFor(holds: (listening: NotificationStreamClient) => boolean): Promise<void> {
    for (let i = 0; i < 1_000 && !holds(this); i++) await delay(10);
    assert.ok(holds(this), JSON.stringify(this.events));
  }
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.done;
  }
}
