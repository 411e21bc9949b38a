import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { createVault, openSealed, reencryptColumns } from '../platform/vault.ts';
import {
  callbackSecretCell,
  EndpointStore,
  endpointSecretCell,
  openSecrets,
  sealedWebhookSecrets,
} from './endpoint-store.ts';

describe('secrets of webhooks', () => {
  forEachDatabase((_name, open) => {
    it('sign, also replaced ones, after the master key was changed', async () => {
      const database = await open();
      const clock = manualClock();
      const endpoints = new EndpointStore(database);
      const [lost, old, current] = [randomBytes(32), randomBytes(32), randomBytes(32)];
      const before = createVault(old, [lost]);
      const cells = { a: endpointSecretCell('a'), b: endpointSecretCell('b'), account: callbackSecretCell(7) };
      const secrets = (cell: (typeof cells)['a' | 'account'], name: string, until: number) => ({
        secret: before.seal(name, cell),
        previous_secret: before.seal(`previous ${name}`, cell),
        previous_until: until,
      });
      const until = clock.now() + DAY_MS;
      const common = {
        ...{ user_id: 7, url: 'https://a.example', events: '[]', description: '', preset: 'standard' as const },
        ...{ enabled: 1 as const, disabled_reason: '' as const, failing_since: null, failed_at: null, created_at: 0 },
      };
      // The replaced secret of `b` has expired, under a key that has been destroyed since.
      const expired = { previous_secret: createVault(lost).seal('expired', cells.b), previous_until: clock.now() };
      await database.transaction(async (trx) => {
        await endpoints.insert(trx, { ...common, ref: 'a', ...secrets(cells.a, 'a', until) });
        await endpoints.insert(trx, { ...common, ref: 'b', ...secrets(cells.b, 'b', until), ...expired });
        await endpoints.replaceCallbackSecret(trx, 7, secrets(cells.account, 'account', until));
      });
      const columns = sealedWebhookSecrets(database.kysely, clock);
      assert.equal(await reencryptColumns(createVault(current, [old]), columns), 5);
      const vault = createVault(current);
      assert.deepEqual(await openSealed(vault, columns), []);
      const opened = (await endpoints.findMany([1, 2]))
        .sort((one, other) => one.id - other.id)
        .map((row) => openSecrets(vault, endpointSecretCell(row.ref), row, clock.now()));
      assert.deepEqual(opened, [['a', 'previous a'], ['b']]);
      const account = (await endpoints.findCallbackSecret(7)) ?? assert.fail();
      assert.deepEqual(openSecrets(vault, cells.account, account, clock.now()), ['account', 'previous account']);
    });
  });
});
