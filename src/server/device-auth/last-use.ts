import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { noteUse } from './authorization-store.ts';

const FLUSH_EVERY_MS = 10_000;

/** Remembers when and from where a device was last used, and writes it every ten seconds: no request waits for it. */
export interface DeviceUse {
  note(authorizationId: number, address: string): void;
  /** Writes what is noted and stops. */
  close(): Promise<void>;
}

export function makeDeviceUse(database: Database<Tables>, clock: Clock, log: Log): DeviceUse {
  let used = new Map<number, { readonly at: number; readonly address: string }>();
  const flush = async (): Promise<void> => {
    const batch = used;
    used = new Map();
    for (const [id, { at, address }] of batch) await noteUse(database.kysely, id, at, address);
  };
  const timer = setInterval(() => {
    flush().catch((error: unknown) => log.warn({ err: error }, 'the last use of devices was not written'));
  }, FLUSH_EVERY_MS).unref();
  return {
    note: (id, address) => void used.set(id, { at: clock.now(), address }),
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
