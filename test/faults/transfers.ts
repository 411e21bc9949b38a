import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';

/** Tables of the process that moves money (transfers.fixture.ts). */
export interface TransferTables {
  accounts: { id: number; balance: number };
  transfers: { n: number; payer: number; payee: number; filler: string };
}

/** Number of accounts, each with a balance of 1000 before the first transfer. */
export const ACCOUNTS = 50;

/**
 * Asserts that the file is sound, every balance is that of the transfers, and no transfer that was reported is missing.
 * @param reported numbers of transfers that were confirmed or read
 */
export function assertTransfersKept(file: string, reported: Iterable<number>): void {
  const database = new DatabaseSync(file);
  try {
    const all = (query: string) => database.prepare(query).all();
    assert.deepEqual({ ...all('pragma integrity_check')[0] }, { integrity_check: 'ok' });
    const expected = new Array<number>(ACCOUNTS).fill(1_000);
    const kept = new Set<number>();
    for (const { n, payer, payee } of all('select n, payer, payee from transfers') as unknown as readonly {
      readonly n: number;
      readonly payer: number;
      readonly payee: number;
    }[]) {
      kept.add(n);
      expected[payer] = (expected[payer] ?? 0) - 1;
      expected[payee] = (expected[payee] ?? 0) + 1;
    }
    assert.deepEqual(
      all('select balance from accounts order by id').map(({ balance }) => balance),
      expected,
    );
    for (const n of reported) assert.ok(kept.has(n), `transfer ${n} was reported and is gone`);
  } finally {
    database.close();
  }
}
