import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import type { Notice } from '../notifications/notifier.ts';

const STEP_MS = 30_000;
const [ENABLE, DISABLE] = ['/api/user/2fa/enable', '/api/user/2fa/disable'];

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  const notices: Notice[] = [];
  before(async () => {
    const notifier = { notify: async (_trx: unknown, notice: Notice) => void notices.push(notice) };
    service = await startAccounts(await open(), { dependencies: { notifier } });
  });
  after(() => service.close());

  /** A pending secret and its current code; advances the clock, because each code works once. */
  const setUp = async (person: TestUser) => {
    const { secret } = await person.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    return () => {
      service.clock.advance(2 * STEP_MS);
      return totp.generate({ timestamp: service.clock.now() });
    };
  };
  const has2fa = async (person: TestUser) => (await person.ok('GET', '/api/user/self')).has_2fa;
  const actionsOf = async (id: number) =>
    (
      await service.database.kysely
        .selectFrom('audit_log')
        .select('action')
        .where('target', '=', `user:${id}`)
        .where('action', 'like', 'self.two-factor-%')
        .orderBy('id')
        .execute()
    ).map(({ action }) => action);

  it('accepts only a correct code, and audits and notifies each change', async () => {
    const person = await service.newUser('changing');
    const code = await setUp(person);
    await person.ok('POST', ENABLE, { code: code() });
    assert.equal(await person.fails(200, 'POST', ENABLE, { code: code() }), formatMessage('two_factor_on', 'en'));
    assert.equal(await person.fails(200, 'POST', DISABLE, { code: '000000' }), formatMessage('wrong_code', 'en'));
    assert.equal(await has2fa(person), true);
    await person.ok('POST', DISABLE, { code: code() });
    assert.equal(await has2fa(person), false);
    assert.equal(await person.fails(200, 'POST', DISABLE, { code: code() }), formatMessage('two_factor_off', 'en'));
    assert.deepEqual(await actionsOf(person.id), ['self.two-factor-on', 'self.two-factor-off']);
    const told = notices.filter(({ userId }) => userId === person.id).map(({ title }) => title.en);
    assert.deepEqual(told, ['Two-step verification is on', 'Two-step verification is off']);
  });

  it("leaves other accounts' backup codes alone", async () => {
    const [one, other] = [await service.newUser('one'), await service.newUser('other')];
    const codes = new Map<TestUser, () => string>();
    for (const person of [one, other]) {
      const code = await setUp(person);
      await person.ok('POST', ENABLE, { code: code() });
      codes.set(person, code);
    }
    await one.ok('POST', DISABLE, { code: codes.get(one)?.() });
    const rows = await service.database.kysely.selectFrom('backup_codes').select('user_id').execute();
    assert.deepEqual([...new Set(rows.map(({ user_id }) => user_id))], [other.id]);
    assert.equal(rows.length, 10);
  });

  it('confirms the second step of a logged-in user, once per code', async () => {
    const person = await service.newUser('approver');
    const code = await setUp(person);
    await person.ok('POST', ENABLE, { code: code() });
    const { twoFactors } = service.accounts;
    const caller = { kind: 'session', userId: person.id, role: 'user', sessionId: 1 } as const;
    const right = code();
    await twoFactors.confirm(caller, right);
    for (const refused of [right, '000000'])
      await assert.rejects(twoFactors.confirm(caller, refused), { code: 'wrong_code' });
  });

  it('counts wrong codes, ten in an hour, and not correct ones', async () => {
    const person = await service.newUser('counted');
    for (let change = 0; change < 6; change += 1) {
      const code = await setUp(person);
      await person.ok('POST', ENABLE, { code: code() });
      await person.ok('POST', DISABLE, { code: code() });
    }
    await setUp(person);
    for (let wrong = 0; wrong < 10; wrong += 1) await person.fails(200, 'POST', ENABLE, { code: '000000' });
    await person.fails(429, 'POST', ENABLE, { code: '000000' });
  });
});
