import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';

/** Simulates the operator's SMS sender and messaging-app verifier. */
class Operator {
  readonly sent: { phone: string; code: string }[] = [];
  answer: { status: number; body: string } = { status: 200, body: '' };
  readonly #server: Server;
  asked = '';
  constructor() {
    this.#server = createServer((request, response) => {
      void this.#take(request).finally(() =>
        response.writeHead(this.answer.status, { 'content-type': 'application/json' }).end(this.answer.body),
      );
    });
  }
  async #take(request: IncomingMessage): Promise<void> {
    if (request.method === 'POST') this.sent.push(JSON.parse(await text(request)));
    else this.asked = request.url ?? '';
  }
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  const operator = new Operator();
  let count = 0;
  before(async () => {
    const url = await operator.listen();
    service = await startAccounts(await open(), {
      settings: { phoneHttpUrl: `${url}/sms`, messagingVerifyUrl: `${url}/verify?app=1` },
    });
  });
  after(async () => {
    await service.close();
    operator.close();
  });

  const person = (): Promise<TestUser> => service.newUser(`bound-${count++}`);
  const phoneOf = (index: number): string => `+49151${String(1_000_000 + index)}`;
  const send = (who: TestUser, phone: string) => who.send('POST', '/api/user/bindings/phone/code', { phone });
  const bind = (who: TestUser, phone: string, code: string) =>
    who.send('POST', '/api/user/bindings/phone', { phone, code });
  const lastCode = (): string => operator.sent.at(-1)?.code ?? '';

  it('binds the phone that received the code', async () => {
    const ada = await person();
    const phone = phoneOf(count);
    assert.equal((await send(ada, phone)).body.success, true);
    assert.equal(operator.sent.at(-1)?.phone, phone);
    assert.match(lastCode(), /^\d{6}$/);
    assert.equal((await ada.ok('GET', '/api/user/self')).phone_bound, false);
    assert.equal((await bind(ada, phone, lastCode())).body.success, true);
    assert.equal((await ada.ok('GET', '/api/user/self')).phone_bound, true);
    assert.equal((await bind(ada, phone, lastCode())).body.success, false);
    const { kysely } = service.database;
    const entries = await kysely
      .selectFrom('audit_log')
      .select(['action', 'target'])
      .where('actor_id', '=', ada.id)
      .execute();
    assert.deepEqual(entries, [{ action: 'self.bind-phone', target: `user:${ada.id}` }]);
  });

  it('checks at most five guesses of a code', async () => {
    const ada = await person();
    const phone = phoneOf(count);
    await send(ada, phone);
    const right = lastCode();
    const wrong = right === '000000' ? '000001' : '000000';
    const guesses = await Promise.all(Array.from({ length: 9 }, () => bind(ada, phone, wrong)));
    assert.ok(guesses.every((answer) => answer.body.success === false));
    assert.equal((await bind(ada, phone, right)).body.success, false);
  });

  it('T37: accepts a code once, for its phone and account, within ten minutes', async () => {
    const [ada, bob] = [await person(), await person()];
    const phone = phoneOf(count);
    await send(ada, phone);
    const code = lastCode();
    assert.equal((await bind(bob, phone, code)).body.success, false);
    assert.equal((await bind(ada, phoneOf(9999), code)).body.success, false);
    const race = await Promise.all([1, 2, 3].map(() => bind(ada, phone, code)));
    assert.equal(race.filter((answer) => answer.body.success).length, 1);
    await send(bob, phoneOf(count + 100));
    service.clock.advance(10 * 60_000);
    assert.equal((await bind(bob, phoneOf(count + 100), lastCode())).body.success, false);
  });

  it('binds a phone to one account', async () => {
    const [ada, bob] = [await person(), await person()];
    const phone = phoneOf(count);
    await send(ada, phone);
    await bind(ada, phone, lastCode());
    await send(bob, phone);
    assert.match(String((await bind(bob, phone, lastCode())).body.message), /another account/);
    assert.equal((await bob.ok('GET', '/api/user/self')).phone_bound, false);
  });

  it('T37: limits sent codes by account and by phone', async () => {
    const before = operator.sent.length;
    const ada = await person();
    const statuses = [];
    for (let index = 0; index < 5; index++) statuses.push((await send(ada, phoneOf(500 + index))).status);
    assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
    assert.equal(operator.sent.length - before, 3);
    let toOnePhone = 0;
    for (let index = 0; index < 12; index++) {
      if ((await send(await person(), phoneOf(600))).status === 200) toOnePhone++;
    }
    assert.equal(toOnePhone, 10);
    service.clock.advance(24 * HOUR_MS);
  });

  it('T37: sends at most a hundred codes an hour over all accounts, because each of them costs money', async () => {
    service.clock.advance(24 * HOUR_MS);
    const before = operator.sent.length;
    const statuses: number[] = [];
    for (let index = 0; index < 34; index++) {
      const who = await person();
      for (let phone = 0; phone < 3; phone++) statuses.push((await send(who, phoneOf(700 + 3 * index + phone))).status);
    }
    assert.deepEqual([statuses.indexOf(429), operator.sent.length - before], [100, 100]);
    service.clock.advance(HOUR_MS);
  });

  it('reports a code that could not be sent', async () => {
    const ada = await person();
    operator.answer = { status: 500, body: 'no' };
    const { status, body } = await send(ada, phoneOf(count));
    operator.answer = { status: 200, body: '' };
    assert.equal(status, 200);
    assert.equal(body.success, false);
    assert.match(String(body.message), /could not be sent/);
  });

  it('binds the messaging account returned by the verifier to one account', async () => {
    const [ada, bob] = [await person(), await person()];
    const ask = (who: TestUser, code = 'c-1') => who.send('POST', '/api/user/bindings/messaging', { code });
    operator.answer = { status: 200, body: JSON.stringify({ success: true, data: 4711 }) };
    assert.equal((await ask(ada, 'a&b=c')).body.success, true);
    assert.equal(operator.asked, '/verify?app=1&code=a%26b%3Dc');
    assert.equal((await ada.ok('GET', '/api/user/self')).messaging_bound, true);
    assert.match(String((await ask(bob)).body.message), /another account/);
    operator.answer = { status: 200, body: JSON.stringify({ success: false, message: 'x' }) };
    assert.equal((await ask(bob)).body.message, formatMessage('wrong_code', 'en'));
    for (const answer of [
      { status: 500, body: '{}' },
      { status: 502, body: '<html>' },
      { status: 200, body: '{"success":true}' },
      { status: 200, body: '{"success":true,"data":""}' },
      { status: 200, body: '{"success":true,"data":{"id":1}}' },
      { status: 200, body: '[]' },
    ]) {
      operator.answer = answer;
      const { status, body } = await ask(bob);
      assert.equal(status, 200);
      assert.match(String(body.message), /could not confirm/, answer.body);
    }
    assert.equal((await bob.ok('GET', '/api/user/self')).messaging_bound, false);
    const refused = [];
    for (let index = 0; index < 4; index++) refused.push((await ask(bob)).status);
    assert.ok(refused.includes(429));
    operator.answer = { status: 200, body: '' };
  });

  it('rejects malformed phone numbers', async () => {
    const ada = await person();
    for (const phone of [
      '',
      '49151',
      '+0151234567',
      '+49 151 1234567',
      `+${'1'.repeat(16)}`,
      49151,
      null,
      '+49\n1512345',
    ]) {
      await ada.fails(400, 'POST', '/api/user/bindings/phone/code', { phone });
      await ada.fails(400, 'POST', '/api/user/bindings/phone', { phone, code: '123456' });
    }
  });
});
