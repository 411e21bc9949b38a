import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DatabaseLog } from './database.ts';
import { loadPg, PostgresHosts } from './postgres.ts';

/**
 * Short messages between all processes on one database: wake-ups and revocations. Delivery is not guaranteed: a message
 * may be lost when a connection breaks, so subscribers also poll the database. The sender receives its own messages.
 */
export interface PubSub {
  /**
   * Call after committing the transaction that the message reports. Sends soon; while the connection is down, messages
   * wait for it, and those beyond a thousand are dropped.
   * @param channel lower-case letters and `_`
   * @param payload up to 7,999 bytes
   */
  publish(channel: string, payload: string): void;
  /**
   * @param onGap called when messages may have been missed: discard cached data, and poll for work
   * @returns a function that unsubscribes
   */
  subscribe(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void;
  /** Whether messages of other processes currently arrive; always true on SQLite, where there is one process. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

/**
 * Opens messaging over LISTEN/NOTIFY on PostgreSQL, or within this process on SQLite, which serves a single process.
 */
export function openPubSub(url: string, log?: DatabaseLog): PubSub {
  return url.startsWith('sqlite:') ? new LocalPubSub(log) : new PostgresPubSub(url, log);
}

interface Subscriber {
  readonly handler: (payload: string) => void;
  readonly onGap: (() => void) | undefined;
}

/** Subscribers by channel. One that throws does not affect the others. */
class Subscribers {
  readonly #byChannel = new Map<string, Set<Subscriber>>();
  readonly #log: DatabaseLog | undefined;

  constructor(log: DatabaseLog | undefined) {
    this.#log = log;
  }

  add(channel: string, listener: Subscriber): () => void {
    const set = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, set.add(listener));
    return () => set.delete(listener);
  }

  channels(): string[] {
    return [...this.#byChannel.keys()];
  }

  deliver(channel: string, payload: string): void {
    for (const { handler } of this.#byChannel.get(channel) ?? []) this.#call(() => handler(payload));
  }

  notifyGap(): void {
    for (const set of this.#byChannel.values()) for (const { onGap } of set) if (onGap) this.#call(onGap);
  }

  #call(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#log?.error({ err: error }, 'a listener failed');
    }
  }
}

function assertPublishable(channel: string, payload = ''): void {
  if (!/^[a-z_]+$/.test(channel)) throw new TypeError(`"${channel}" is not a channel name`);
  if (Buffer.byteLength(payload) > 7_999) throw new RangeError('a signal carries at most 7,999 bytes');
}

class LocalPubSub implements PubSub {
  readonly isConnected = true;
  readonly #listeners: Subscribers;

  constructor(log: DatabaseLog | undefined) {
    this.#listeners = new Subscribers(log);
  }

  publish(channel: string, payload: string): void {
    assertPublishable(channel, payload);
    setImmediate(() => this.#listeners.deliver(channel, payload));
  }

  subscribe(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void {
    assertPublishable(channel);
    return this.#listeners.add(channel, { handler, onGap });
  }

  async close(): Promise<void> {}
}

const MAX_UNSENT = 1_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;
/** A connection without traffic is pinged at this interval; one that does not respond is replaced. */
const CHECK_INTERVAL_MS = 5_000;
const QUERY_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;

/** Keeps one dedicated connection alive while open; commands on it run one after another. */
class PostgresPubSub implements PubSub {
  readonly #hosts: PostgresHosts;
  readonly #log: DatabaseLog | undefined;
  readonly #listeners: Subscribers;
  readonly #checks: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #client: Client | undefined;
  #last: Promise<unknown>;
  #unsent = 0;
  #isChecking = false;

  constructor(url: string, log: DatabaseLog | undefined) {
    this.#hosts = new PostgresHosts(url);
    this.#log = log;
    this.#listeners = new Subscribers(log);
    this.#last = this.#connect();
    this.#checks = setInterval(() => void this.#check(), CHECK_INTERVAL_MS).unref();
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  publish(channel: string, payload: string): void {
    assertPublishable(channel, payload);
    if (this.#unsent >= MAX_UNSENT) {
      this.#log?.warn({ channel }, 'a signal was dropped');
      return;
    }
    this.#unsent++;
    const values = [channel, payload];
    void this.#run((client) => client.query('select pg_notify($1, $2)', values)).finally(() => this.#unsent--);
  }

  subscribe(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void {
    assertPublishable(channel);
    const stop = this.#listeners.add(channel, { handler, onGap });
    void this.#run((client) => client.query(`listen ${channel}`));
    return stop;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#checks);
    await this.#last;
    // A dead connection would not report its end.
    await Promise.race([this.#client?.end(), delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
  }

  /** Detects that the connection is dead, or that its server has become a standby. */
  async #check(): Promise<void> {
    // Pending queries have time limits of their own, and check the connection sufficiently.
    if (this.#isChecking || this.#unsent > 0) return;
    this.#isChecking = true;
    await this.#run(async (client) => {
      await client.query('select 1');
      await this.#hosts.check(client);
    });
    this.#isChecking = false;
  }

  #run(work: (client: Client) => Promise<unknown>): Promise<unknown> {
    this.#last = this.#last.then(async () => {
      const client = this.#client;
      try {
        if (client !== undefined) await work(client);
      } catch (error) {
        this.#log?.warn({ err: error }, 'a signal was lost');
        // The `end` event triggers the reconnect; an unresponsive server would not cause one.
        void client?.end();
      }
    });
    return this.#last;
  }

  /** Retries until connected, then listens to all channels subscribed so far. */
  async #connect(): Promise<void> {
    for (
      let waitMs = RECONNECT_MIN_MS;
      !this.#closing.signal.aborted;
      waitMs = Math.min(2 * waitMs, RECONNECT_MAX_MS)
    ) {
      const server = this.#hosts.current;
      const client = new (loadPg().Client)({
        ...this.#hosts.clientConfig(),
        connectionTimeoutMillis: RECONNECT_MAX_MS,
        query_timeout: QUERY_TIMEOUT_MS,
        application_name: 'reelgate signals',
      });
      client.on('notification', ({ channel, payload }) => this.#listeners.deliver(channel, payload ?? ''));
      client.on('error', (error) => this.#log?.warn({ err: error }, 'the connection for signals was lost'));
      try {
        await client.connect();
        await this.#hosts.check(client);
        for (const channel of this.#listeners.channels()) await client.query(`listen ${channel}`);
        this.#client = client;
        client.once('end', () => this.#reconnect());
        return;
      } catch (error) {
        this.#log?.warn({ err: error }, 'cannot connect for signals');
        this.#hosts.moveOnFrom(server);
        await client.end().catch(() => {});
        await delay(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
      }
    }
  }

  #reconnect(): void {
    if (this.#closing.signal.aborted) return;
    this.#client = undefined;
    this.#last = this.#last.then(() => this.#connect()).then(() => this.#listeners.notifyGap());
  }
}
