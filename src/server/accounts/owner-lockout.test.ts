import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { resetPassword } from './administrator-access.ts';

const QUARTER_MS = 15 * 60_000;

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let count = 0;
  before(async () => {
    service = await startAccounts(await open());
  });
  after(() => service.close());

  const logIn = (client: TestUser, username: string, password = PASSWORD) =>
    client.send('POST', '/api/user/login', { username, password });
  /** An account that has logged in from its own IP. */
  const owner = async (): Promise<{
    readonly username: string;
    readonly client: TestUser;
    readonly address: string;
  }> => {
    const username = `locked-out-${count++}`;
    const address = `10.20.${count}.1`;
    const client = service.anonymous(address);
    await client.register(username);
    await client.logIn(username);
    return { username, client, address };
  };
  /** Exhausts the limit of unknown sources, each guess from a different IP. */
  const guess = async (username: string): Promise<void> => {
    const answers = [];
    for (let index = 0; index < 14; index++)
      answers.push(await logIn(service.anonymous(`10.21.${count}.${index}`), username, `wrong ${index}`));
    assert.equal(answers.filter((answer) => answer.status === 429).length, 4);
  };

  it("T22: lets the owner in from a known network while attackers exhaust the account's guesses", async () => {
    const { username, address } = await owner();
    await guess(username);
    assert.equal((await logIn(service.anonymous('10.22.0.1'), username)).status, 429, 'an unknown network');
    assert.equal((await logIn(service.anonymous(address), username)).body.success, true);
  });

  it('T22: lets the owner in on a known device from any network, and with a live session', async () => {
    const { username, client } = await owner();
    await guess(username);
    const elsewhere = service.anonymous('10.22.0.2');
    elsewhere.cookies.set('known_device', client.cookies.get('known_device') ?? '');
    assert.equal((await logIn(elsewhere, username)).body.success, true);
    const besideSession = service.anonymous('10.22.0.3');
    besideSession.cookies.set('session', client.cookies.get('session') ?? '');
    assert.equal((await logIn(besideSession, username)).body.success, true);
    const other = await owner();
    assert.equal((await logIn(other.client, username)).status, 429, 'beside the session of another account');
  });

  it('T22: lets a known device log in from an IP whose guesses are exhausted', async () => {
    const { username, client, address } = await owner();
    for (let index = 0; index < 31; index++) await logIn(service.anonymous(address), `nobody-${index}`, 'wrong');
    assert.equal((await logIn(service.anonymous(address), username)).status, 429);
    assert.equal((await logIn(client, username)).body.success, true);
    service.clock.advance(QUARTER_MS);
  });

  it('T22: checks at most ten wrong passwords from a known device too, and does not extend its trust to other accounts', async () => {
    const [one, other] = [await owner(), await owner()];
    const wrong = service.anonymous('10.22.0.4');
    wrong.cookies.set('known_device', one.client.cookies.get('known_device') ?? '');
    const statuses = [];
    for (let index = 0; index < 12; index++) statuses.push((await logIn(wrong, one.username, `wrong ${index}`)).status);
    assert.deepEqual(statuses.slice(9), [200, 429, 429]);
    await guess(other.username);
    assert.equal((await logIn(wrong, other.username)).status, 429, 'the device is not known to this account');
    service.clock.advance(QUARTER_MS);
  });

  it('T22: counts each known source separately, so that guesses from one lock out no other', async () => {
    const { username, client, address } = await owner();
    const office = service.anonymous('10.25.0.1');
    await logIn(office, username);
    for (let index = 0; index < 12; index++) await logIn(service.anonymous(address), username, `wrong ${index}`);
    assert.equal((await logIn(service.anonymous(address), username)).status, 429);
    assert.equal((await logIn(service.anonymous('10.25.0.1'), username)).body.success, true, 'another network');
    assert.equal((await logIn(client, username)).body.success, true, 'a known device in that network');
    service.clock.advance(QUARTER_MS);
  });

  it('forgets login sources after ninety days, and keeps at most twenty', async () => {
    const { username } = await owner();
    for (let index = 0; index < 12; index++) await logIn(service.anonymous(`10.23.0.${index}`), username);
    const id = (await service.anonymous('10.23.0.1').logIn(username)).id as number;
    const sources = () =>
      service.database.kysely.selectFrom('known_login_sources').select('source').where('user_id', '=', id).execute();
    assert.equal((await sources()).length, 20);
    service.clock.advance(91 * 24 * HOUR_MS);
    await guess(username);
    assert.equal((await logIn(service.anonymous('10.23.0.11'), username)).status, 429, 'a network of long ago');
    await service.accounts.removeExpired();
    assert.deepEqual(await sources(), []);
  });

  it('T22: lets root in from anywhere during an attack with a password generated on the server', async () => {
    await guess(ROOT.username);
    const root = service.anonymous('10.24.0.1');
    assert.equal((await logIn(root, ROOT.username, ROOT.password)).status, 429);
    const dependencies = {
      database: service.database,
      clock: service.clock,
      linkedLogins: [],
      notices: { notify: async () => {} },
    };
    const { password } = await resetPassword(dependencies, ROOT.username);
    assert.equal((await logIn(root, ROOT.username, password)).body.success, true);
    // The limit applies again to a password chosen by a person.
    const chosen = await resetPassword(dependencies, ROOT.username, { password: 'chosen by a person' });
    assert.equal((await logIn(service.anonymous('10.24.0.2'), ROOT.username, chosen.password)).status, 429);
  });
});
