import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DatabaseLog } from './database.ts';
import { loadPg } from './pg.ts';

/**
 * Short messages between all processes on one database: wake-ups and revocation news. Hints, not facts: one may be lost
 * when a connection breaks, so whoever listens also looks by itself now and then. The sender hears its own messages.
 */
export interface Signals {
  /**
   * Call it after the transaction whose news it tells has resolved. Sends soon; while the connection is down, signals wait
   * for it, and beyond a thousand of them are dropped.
   * @param channel lower-case letters and `_`
   * @param payload up to 7,999 bytes
   */
  notify(channel: string, payload: string): void;
  /**
   * @param onGap called when messages may have been missed: forget what you keep in memory, look for work
   * @returns stops listening
   */
  listen(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void;
  close(): Promise<void>;
}

/** Over LISTEN/NOTIFY on PostgreSQL, within this process on SQLite (which serves one process). */
export function openSignals(url: string, log?: DatabaseLog): Signals {
  return url.startsWith('sqlite:') ? new LocalSignals(log) : new PostgresSignals(url, log);
}

interface Listener {
  readonly handler: (payload: string) => void;
  readonly onGap: (() => void) | undefined;
}

/** Who listens to what. A listener that throws disturbs nobody else. */
class Listeners {
  readonly #byChannel = new Map<string, Set<Listener>>();
  readonly #log: DatabaseLog | undefined;

  constructor(log: DatabaseLog | undefined) {
    this.#log = log;
  }

  add(channel: string, listener: Listener): () => void {
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

  tellGap(): void {
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

function assertSignal(channel: string, payload = ''): void {
  if (!/^[a-z_]+$/.test(channel)) throw new TypeError(`"${channel}" is not a channel name`);
  if (Buffer.byteLength(payload) > 7_999) throw new RangeError('a signal carries at most 7,999 bytes');
}

class LocalSignals implements Signals {
  readonly #listeners: Listeners;

  constructor(log: DatabaseLog | undefined) {
    this.#listeners = new Listeners(log);
  }

  notify(channel: string, payload: string): void {
    assertSignal(channel, payload);
    setImmediate(() => this.#listeners.deliver(channel, payload));
  }

  listen(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void {
    assertSignal(channel);
    return this.#listeners.add(channel, { handler, onGap });
  }

  async close(): Promise<void> {}
}

const MAX_UNSENT = 1_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;

/** One connection of its own, kept up for as long as this is open; commands on it go one after another. */
class PostgresSignals implements Signals {
  readonly #url: string;
  readonly #log: DatabaseLog | undefined;
  readonly #listeners: Listeners;
  readonly #closing = new AbortController();
  #client: Client | undefined;
  #last: Promise<unknown>;
  #unsent = 0;

  constructor(url: string, log: DatabaseLog | undefined) {
    const parsed = new URL(url);
    parsed.searchParams.delete('poolMax');
    this.#url = parsed.href;
    this.#log = log;
    this.#listeners = new Listeners(log);
    this.#last = this.#connect();
  }

  notify(channel: string, payload: string): void {
    assertSignal(channel, payload);
    if (this.#unsent >= MAX_UNSENT) {
      this.#log?.warn({ channel }, 'a signal was dropped');
      return;
    }
    this.#unsent++;
    void this.#run('select pg_notify($1, $2)', [channel, payload]).finally(() => this.#unsent--);
  }

  listen(channel: string, handler: (payload: string) => void, onGap?: () => void): () => void {
    assertSignal(channel);
    const stop = this.#listeners.add(channel, { handler, onGap });
    void this.#run(`listen ${channel}`, []);
    return stop;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    await this.#client?.end();
  }

  #run(sql: string, values: string[]): Promise<unknown> {
    this.#last = this.#last.then(async () => {
      try {
        await this.#client?.query(sql, values);
      } catch (error) {
        this.#log?.warn({ err: error }, 'a signal was lost');
      }
    });
    return this.#last;
  }

  /** Tries until it stands, then listens to everything asked for so far. */
  async #connect(): Promise<void> {
    for (
      let waitMs = RECONNECT_MIN_MS;
      !this.#closing.signal.aborted;
      waitMs = Math.min(2 * waitMs, RECONNECT_MAX_MS)
    ) {
      const client = new (loadPg().Client)({
        connectionString: this.#url,
        keepAlive: true,
        connectionTimeoutMillis: RECONNECT_MAX_MS,
        application_name: 'reelgate signals',
      });
      client.on('notification', ({ channel, payload }) => this.#listeners.deliver(channel, payload ?? ''));
      client.on('error', (error) => this.#log?.warn({ err: error }, 'the connection for signals was lost'));
      try {
        await client.connect();
        for (const channel of this.#listeners.channels()) await client.query(`listen ${channel}`);
        this.#client = client;
        client.once('end', () => this.#reconnect());
        return;
      } catch (error) {
        this.#log?.warn({ err: error }, 'cannot connect for signals');
        await client.end().catch(() => {});
        await delay(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
      }
    }
  }

  #reconnect(): void {
    if (this.#closing.signal.aborted) return;
    this.#client = undefined;
    this.#last = this.#last.then(() => this.#connect()).then(() => this.#listeners.tellGap());
  }
}
