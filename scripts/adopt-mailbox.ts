/**
 * `npm run adopt-mailbox -- USERNAME LOCAL_PART`: gives an account a mailbox it had before this service and that opens
 * with the account's own password (password_source account).
 */
import { isLocalPart } from '../src/server/mailbox/names.ts';
import { generateRef } from '../src/server/mailbox/passwords.ts';
import { skeleton } from '../src/server/mailbox/reserved-names.ts';
import { MailboxStore } from '../src/server/mailbox/store.ts';
import { loadConfig } from '../src/server/platform/config.ts';
import { openDatabase } from '../src/server/platform/db/database.ts';
import type { Tables } from '../src/server/tables.ts';

const [username, localPart] = process.argv.slice(2);
if (username === undefined || localPart === undefined || !isLocalPart(localPart)) {
  console.error('usage: npm run adopt-mailbox -- USERNAME LOCAL_PART');
  process.exit(2);
}
const { config } = loadConfig();
const database = openDatabase<Tables>(config.databaseUrl);
const account = await database.kysely
  .selectFrom('accounts')
  .select('id')
  .where('username', '=', username)
  .executeTakeFirst();
const row =
  account &&
  (await new MailboxStore(database).insert({
    user_id: account.id,
    address: `${localPart}@${config.mailDomain}`,
    skeleton: `${skeleton(localPart)}@${config.mailDomain}`,
    ref: generateRef(),
    password_source: 'account',
    password_sealed: null,
    password_hash: null,
    state: 'active',
    attempt: 0,
    published: null,
    created_at: Date.now(),
  }));
await database.close();
if (row === undefined) {
  console.error(
    account === undefined ? `There is no account ${username}.` : 'The account or the address has a mailbox.',
  );
  process.exit(1);
}
console.log(`${username} has ${row.address}; the mail server is told within a minute.`);
