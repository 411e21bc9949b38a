import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAppError } from '../platform/app-error.ts';
import type { Log } from '../platform/log.ts';
import type { ConfiguredRequest, OutboundClient } from '../platform/outbound/outbound.ts';
import { HttpMessagingAccountLookup, HttpPhoneSender, LogPhoneSender } from './bindings.ts';

interface Answer {
  readonly status: number;
  readonly json?: unknown;
}

/** An outbound client that gives one response or fails, and records its requests. */
function answering(answer: Answer | Error) {
  const asked: ConfiguredRequest[] = [];
  const outbound = {
    requestJson: async (request: ConfiguredRequest) => {
      asked.push(request);
      if (answer instanceof Error) throw answer;
      return { headers: {}, text: '', json: undefined, ...answer };
    },
  } as unknown as OutboundClient;
  return { asked, outbound };
}

const outcomeOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    return await work;
  } catch (error) {
    assert.ok(isAppError(error), String(error));
    return error.code;
  }
};

describe('phone codes', () => {
  const send = (answer: Answer | Error) => {
    const { asked, outbound } = answering(answer);
    return {
      asked,
      outcome: outcomeOf(new HttpPhoneSender(outbound, 'http://sms.example/send').send('+4912', '123456')),
    };
  };

  it("are posted to the operator's service", async () => {
    const { asked, outcome } = send({ status: 200 });
    assert.equal(await outcome, undefined);
    const [request] = asked;
    assert.deepEqual(
      [request?.method, request?.url, request?.private, request?.totalTimeoutMs],
      ['POST', 'http://sms.example/send', true, 10_000],
    );
    assert.deepEqual(JSON.parse(request?.body as string), { phone: '+4912', code: '123456' });
  });

  it('count as sent on any 2xx response, and on no other', async () => {
    for (const status of [200, 204, 299]) assert.equal(await send({ status }).outcome, undefined, `${status}`);
    for (const status of [199, 300, 404, 500])
      assert.equal(await send({ status }).outcome, 'phone_unavailable', `${status}`);
    assert.equal(await send(new Error('refused')).outcome, 'phone_unavailable');
  });

  it('are written to the log in development', async () => {
    const lines: unknown[][] = [];
    await new LogPhoneSender({ info: (...line: unknown[]) => void lines.push(line) } as unknown as Log).send(
      '+49',
      '77',
    );
    assert.deepEqual(lines, [[{ phone: '+49' }, 'the code for this phone is 77']]);
  });
});

describe('the account of a messaging app', () => {
  const verify = (answer: Answer | Error, url: string | undefined = 'http://chat.example/check?app=1') => {
    const { asked, outbound } = answering(answer);
    return { asked, outcome: outcomeOf(new HttpMessagingAccountLookup(outbound, url).verify('a b&c')) };
  };
  const data = (value: unknown) => verify({ status: 200, json: { success: true, data: value } }).outcome;

  it('is looked up by its code', async () => {
    const { asked, outcome } = verify({ status: 200, json: { success: true, data: 'u-1' } });
    assert.equal(await outcome, 'u-1');
    assert.equal(asked[0]?.url, 'http://chat.example/check?app=1&code=a+b%26c');
    assert.deepEqual([asked[0]?.method, asked[0]?.private], ['GET', true]);
  });

  it('is a string or an integer', async () => {
    assert.equal(await data(42), '42');
    assert.equal(await data('x'.repeat(200)), 'x'.repeat(200));
    for (const junk of ['', 'x'.repeat(201), 'a\u0000', 1.5, 2 ** 53, null, {}, undefined])
      assert.equal(await data(junk), 'messaging_unavailable', JSON.stringify(junk));
  });

  it('is undefined for a wrong code, without an error', async () => {
    assert.equal(await verify({ status: 400, json: { success: false } }).outcome, undefined);
    assert.equal(await verify({ status: 499, json: { success: true, data: 'u' } }).outcome, 'u');
  });

  it('cannot be looked up without the service', async () => {
    for (const answer of [
      { status: 500, json: { success: true, data: 'u' } },
      { status: 200, json: { success: 'yes', data: 'u' } },
      { status: 200, json: [] },
      { status: 200 },
      new Error('refused'),
    ])
      assert.equal(await verify(answer).outcome, 'messaging_unavailable');
    const unset = new HttpMessagingAccountLookup(answering({ status: 200 }).outbound, undefined);
    assert.equal(await outcomeOf(unset.verify('x')), 'messaging_unavailable');
  });
});
