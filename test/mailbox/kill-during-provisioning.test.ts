import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import type { MailcowSimulator } from '../../src/sandbox/mail/mailcow.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { MailFaultPoint } from '../../src/server/mailbox/provisioner.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { forEachDatabase } from '../for-each-database.ts';
import type { KillOrder } from './kill-during-provisioning.fixture.ts';
import {
  APP_PASSWORD,
  APPLY,
  type AppPasswordRecord,
  MAILBOX,
  type MailboxFixture,
  type MailboxRecord,
  startMailboxFixture,
} from './mailbox-fixture.ts';
import { startMailcow } from './mailcow-fixture.ts';

const PROGRAM = fixtureProgram('test/mailbox/kill-during-provisioning.fixture.ts');

const APPLY_POINTS = ['apply.intent', 'apply.backend', 'apply.active'] as const;
const REGENERATE_POINTS = [
  'regenerate.intent',
  'regenerate.backend',
  'regenerate.complete',
  'regenerate.sessions',
] as const;
const PROTOCOLS = ['imap', 'smtp', 'pop3'] as const;

forEachDatabase((_name, _open, freshUrl) => {
  describe('kill -9 between two steps', () => {
    const masterKey = randomBytes(32);
    let databaseUrl: string;
    let database: Database<Tables>;
    let mailcow: MailcowSimulator;
    let sandbox: Sandbox;
    let service: MailboxFixture;
    before(async () => {
      databaseUrl = await freshUrl();
      database = openDatabase<Tables>(databaseUrl);
      await migrate(database, migrations);
    });
    after(() => database.close());

    /** Starts a separate mailcow and service for each test, on one database. */
    const begin = async (username: string): Promise<TestUser> => {
      const fixture = await startMailcow();
      ({ mailcow, sandbox } = fixture);
      service = await startMailboxFixture(database, { config: fixture.config, vault: createVault(masterKey) });
      await database.kysely.deleteFrom('app_passwords').execute();
      await database.kysely.deleteFrom('mailboxes').execute();
      return service.personWithPhone(username);
    };
    const end = async () => {
      await service.close();
      await sandbox.stop();
    };
    const dieAt = async (point: MailFaultPoint, userId: number) => {
      const order: KillOrder = {
        databaseUrl,
        mailcowUrl: sandbox.url('mailcow'),
        mailcowKey: mailcow.readWriteKey,
        masterKey: masterKey.toString('base64'),
        userId,
        point,
      };
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [, signal] = await once(child, 'exit');
      assert.equal(signal, 'SIGKILL');
    };
    const admits = (email: string, password: string) =>
      PROTOCOLS.map((protocol) => mailcow.authenticates(email, password, protocol));
    const assertWhole = async (person: TestUser) => {
      const record = await person.ok<AppPasswordRecord>('GET', APP_PASSWORD);
      assert.deepEqual([record.has_app_password, record.consistent], [true, true]);
      assert.deepEqual(admits(record.email, record.app_password), [true, true, true]);
      assert.equal(mailcow.appNames(record.email).length, 1);
      const row = await database.kysely.selectFrom('app_passwords').selectAll().executeTakeFirstOrThrow();
      assert.equal(row.pending_ref, null);
      return record;
    };

    for (const point of APPLY_POINTS) {
      for (const recoveryStep of ['the next call', 'the reconciler'] as const) {
        it(`${point}: ${recoveryStep} leaves one mailbox, which the displayed password opens`, async () => {
          const person = await begin(`${recoveryStep.slice(4, 8)}-${point.slice(6)}`);
          await dieAt(point, person.id);
          if (recoveryStep === 'the reconciler') {
            service.clock.advance(60_000);
            await service.mailbox.reconciler?.finishPendingMailboxes();
          } else await person.ok('POST', APPLY, { local_part: 'ada' });
          const own = await person.ok<MailboxRecord>('GET', MAILBOX);
          assert.deepEqual([own.has_mailbox, own.email], [true, 'ada@mail.test']);
          assert.deepEqual(mailcow.addresses(), ['ada@mail.test']);
          assert.deepEqual(admits(own.email, own.password), [true, true, true]);
          assert.deepEqual(await person.ok('POST', APPLY), { email: 'ada@mail.test' });
          await end();
        });
      }
    }

    for (const point of REGENERATE_POINTS) {
      for (const recoveryStep of ['reading', 'regenerating', 'the reconciler'] as const) {
        it(`${point}: ${recoveryStep} leaves one application password, the displayed one`, async () => {
          const person = await begin(`${recoveryStep.slice(0, 5).replace(' ', '_')}-${point.slice(11)}`);
          await person.ok('POST', APPLY, { local_part: 'ada' });
          const first = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
          await dieAt(point, person.id);
          if (recoveryStep === 'regenerating') await person.ok('POST', APP_PASSWORD);
          if (recoveryStep === 'the reconciler') {
            service.clock.advance(60_000);
            await service.mailbox.reconciler?.finishPendingMailboxes();
            await service.mailbox.reconciler?.removeUnknownAppPasswords();
          }
          const record = await assertWhole(person);
          assert.notEqual(record.app_password, first.app_password);
          assert.deepEqual(admits(record.email, first.app_password), [false, false, false]);
          await end();
        });
      }
    }
  });
});
