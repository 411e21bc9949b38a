import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { noteUse } from './token-store.ts';

const FLUSH_EVERY_MS = 10_000;
const IDS_PER_WRITE = 500;

/**
 * Remembers which tokens were used and writes it every ten seconds: a call must not wait for a write that only tells
 * people when a key was last seen. A crash loses at most those ten seconds.
 */
export interface LastUse {
  note(tokenId: number): void;
  flush(): Promise<void>;
  /** Flushes and stops. */
  close(): Promise<void>;
}

export function makeLastUse(database: Database<Tables>, clock: Clock, log: Log): LastUse {
  let used = new Set<number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const ids = [...used];
    used = new Set();
    for (let from = 0; from < ids.length; from += IDS_PER_WRITE) {
      await noteUse(database.kysely, ids.slice(from, from + IDS_PER_WRITE), clock.now());
    }
  };
  const timer = setInterval(() => {
    flush().catch((error: unknown) => log.warn({ err: error }, 'the last use of tokens was not written'));
  }, FLUSH_EVERY_MS).unref();
  return {
    note: (tokenId) => void used.add(tokenId),
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
