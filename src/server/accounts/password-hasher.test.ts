import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CHEAP_PASSWORD_HASHING } from '../../../test/cheap-password-hashing.ts';
import { PasswordHasher } from './passwords.ts';

const hasher = new PasswordHasher(CHEAP_PASSWORD_HASHING);

it('accepts the same password typed in different Unicode forms', async () => {
  const stored = await hasher.hash('Cafe\u0301 \uff11\uff12\uff13');
  assert.equal(await hasher.verify('Caf\u00e9 123', stored), true);
  assert.equal(await hasher.verify('Cafe 123', stored), false);
});

it('does not compute a stored hash that costs more than this service ever requires', async () => {
  const stored = await hasher.hash('correct horse battery');
  assert.equal(await hasher.verify('correct horse battery', stored), true);
  for (const cost of ['m=65537,t=1,p=1', 'm=64,t=7,p=1', 'm=64,t=1,p=5', 'm=9999999,t=999,p=999']) {
    const expensive = stored.replace(/m=\d+,t=\d+,p=\d+/, cost);
    const startedAt = performance.now();
    assert.equal(await hasher.verify('correct horse battery', expensive), false, cost);
    assert.ok(performance.now() - startedAt < 2_000, cost);
    assert.equal(hasher.needsRehash(expensive), true);
  }
});

it('accepts hashes of the maximum cost, and none that exceeds any of its parameters', async () => {
  const verifies = async (cost: object): Promise<boolean> => {
    const stored = await new PasswordHasher({ ...CHEAP_PASSWORD_HASHING, ...cost }).hash('correct horse battery');
    return hasher.verify('correct horse battery', stored);
  };
  for (const cost of [{ memory: 65_536 }, { passes: 6 }, { parallelism: 4 }])
    assert.equal(await verifies(cost), true, JSON.stringify(cost));
  for (const cost of [{ memory: 65_544 }, { passes: 7 }, { parallelism: 5 }])
    assert.equal(await verifies(cost), false, JSON.stringify(cost));
});

it('rejects every password for a stored value that is not a hash', async () => {
  for (const stored of [
    undefined,
    '',
    'correct horse battery',
    '$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$dGFn',
    '$2b$10$x',
  ])
    assert.equal(await hasher.verify('correct horse battery', stored), false, String(stored));
});

it('salts each hash, and recognizes hashes of another cost', async () => {
  const [one, other] = [await hasher.hash('correct horse battery'), await hasher.hash('correct horse battery')];
  assert.notEqual(one, other);
  assert.equal(hasher.needsRehash(one), false);
  assert.equal(new PasswordHasher({ ...CHEAP_PASSWORD_HASHING, passes: 2 }).needsRehash(one), true);
});
