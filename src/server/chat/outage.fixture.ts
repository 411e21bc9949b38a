import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { openLog } from '../platform/log.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { ChargeBatcher } from './charge.ts';
import { SettlementJournal } from './settlement-journal.ts';

/**
 * A process that ends model calls while its database is unavailable, and waits to be killed: one call is charged, one
 * was refused and must be refunded, one is still being delivered.
 */
const [directory = '', masterKey = ''] = process.argv.slice(2);
const log = openLog('silent');
const journal = new SettlementJournal(directory, Buffer.from(masterKey, 'base64'), log);
const database: Database<Tables> = {
  ...openDatabase<Tables>('sqlite::memory:'),
  transaction: () => Promise.reject(new DatabaseUnavailableError('away')),
};
const batcher = new ChargeBatcher({ database, quota: {} as Ledger, log, journal });

batcher.settle({ userId: 1, tokenId: undefined }, 'req_charged', 30, { promptTokens: 10, completionTokens: 20 });
void batcher.refund({ userId: 1, tokenId: undefined }, 'req_refunded');
journal.open({
  journalMeta: () => ({
    ref: 'req_open',
    path: '/v1/chat/completions',
    price: { input_per_million: 1_000_000, output_per_million: 1_000_000 },
    surcharge: 0,
    choiceCount: 1,
    promptTokens: 1,
  }),
  journalBody: () => Buffer.alloc(0),
  journalText: () => '',
});
for (const content of ['one', ' two', ' three'])
  journal.append('req_open', Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`));
journal.whenWritten(() => void process.stdout.write('ready\n'));
setInterval(() => {}, 60_000);
