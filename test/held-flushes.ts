import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';

/** Flushes of SQLite's log that wait for the test. */
export interface HeldFlushes {
  /** Number of flushes begun so far. */
  readonly begun: number;
  /** Resolves when a flush has begun and not ended. */
  untilWaiting(): Promise<void>;
  /** Ends the waiting flush, with an error if there is one; the next one waits again. */
  end(error?: Error): void;
  /** Lets all flushes run as usual again. */
  restore(): void;
}

/** Replaces `fdatasync` by one that ends when the test says so. */
export function holdFlushes(): HeldFlushes {
  const real = fs.fdatasync;
  const waiting: ((error?: Error) => void)[] = [];
  let begun = 0;
  const replace = (implementation: typeof fs.fdatasync): void => {
    fs.fdatasync = implementation;
    syncBuiltinESMExports();
  };
  const held = (fd: number, callback: (error: NodeJS.ErrnoException | null) => void): void => {
    begun++;
    waiting.push((error) => (error === undefined ? real(fd, callback) : callback(error)));
  };
  replace(held as typeof fs.fdatasync);
  return {
    get begun() {
      return begun;
    },
    async untilWaiting() {
      while (waiting.length === 0) await pause(1);
    },
    end: (error) => waiting.shift()?.(error),
    restore() {
      replace(real);
      for (const end of waiting.splice(0)) end();
    },
  };
}
