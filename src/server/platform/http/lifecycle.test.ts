import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { RequestsDuringStart } from './lifecycle.ts';

const MOST = 1_000;

/** A request that arrived before the service was constructed, and its response so far. */
function ask(starting: RequestsDuringStart, url: string) {
  const answered: { status?: number; headers?: Record<string, string>; body?: string } = {};
  const response = Object.assign(new EventEmitter(), {
    writeHead(status: number, headers: Record<string, string>) {
      Object.assign(answered, { status, headers });
      return response;
    },
    end(body: string) {
      answered.body = body;
    },
  });
  starting.handle({ url } as IncomingMessage, response as unknown as ServerResponse);
  return { answered, close: () => response.emit('close') };
}

describe('requests during startup', () => {
  const handedOver = (starting: RequestsDuringStart): (string | undefined)[] => {
    const urls: (string | undefined)[] = [];
    starting.passTo(({ url }) => urls.push(url));
    return urls;
  };

  it('receive liveness, and that the service is not ready yet', () => {
    const starting = new RequestsDuringStart();
    for (const url of ['/livez', '/livez?x=1']) {
      const { answered } = ask(starting, url);
      assert.deepEqual([answered.status, answered.body], [200, 'ok\n']);
    }
    const { answered } = ask(starting, '/readyz?x=1');
    assert.deepEqual([answered.status, answered.body], [503, '{"ready":false,"reason":"migrating"}']);
    assert.deepEqual([answered.headers?.['retry-after'], answered.headers?.['connection']], ['2', 'close']);
    assert.deepEqual(handedOver(starting), []);
  });

  it('wait in order, as long as their connections last', () => {
    const starting = new RequestsDuringStart();
    const [first, gone, last] = ['/v1/models', '/api/gone', '/livez/else'].map((url) => ask(starting, url));
    gone?.close();
    assert.deepEqual([first?.answered, last?.answered], [{}, {}]);
    assert.deepEqual(handedOver(starting), ['/v1/models', '/livez/else']);
    assert.deepEqual(handedOver(starting), [], 'once');
  });

  it('are refused beyond a thousand, until one of them leaves', () => {
    const starting = new RequestsDuringStart();
    const waiting = Array.from({ length: MOST }, () => ask(starting, '/'));
    const { answered } = ask(starting, '/');
    assert.equal(answered.status, 503);
    assert.match(answered.body ?? '', /"success":false,"message":"The service is starting/);
    waiting[0]?.close();
    assert.deepEqual(ask(starting, '/').answered, {});
    assert.equal(handedOver(starting).length, MOST);
  });

  it('are refused when the startup takes too long, except those already handed over', async () => {
    const starting = new RequestsDuringStart(20);
    const taken = ask(starting, '/taken');
    assert.deepEqual(handedOver(starting), ['/taken']);
    const late = ask(starting, '/late');
    while (late.answered.status === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual([late.answered.status, late.answered.headers?.['connection']], [503, 'close']);
    assert.deepEqual(taken.answered, {});
    assert.deepEqual(handedOver(starting), [], 'it has its response');
  });
});
