import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { openLog } from '../log.ts';
import { RequestContext } from './route-registry.ts';

const contextOf = (parts: object): RequestContext =>
  new RequestContext({ id: 'r1', headers: {}, cookies: {}, ...parts } as unknown as FastifyRequest, {
    clientIp: '192.0.2.1',
    locale: 'en',
    log: openLog('silent'),
  });

const socket = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed });

describe('RequestContext', () => {
  it('reports a disconnected client once, to every request of the connection', () => {
    const kept = socket();
    const [first, second] = [contextOf({ raw: { socket: kept } }), contextOf({ raw: { socket: kept } })];
    assert.equal(first.disconnected, second.disconnected);
    assert.equal(kept.listenerCount('close'), 1);
    assert.equal(first.disconnected.aborted, false);
    kept.emit('close');
    assert.equal(second.disconnected.aborted, true);
  });

  it('reports a client that has already disconnected', () => {
    assert.equal(contextOf({ raw: { socket: socket(true) } }).disconnected.aborted, true);
  });

  it('hands over the bytes of a body once, and none for an empty body', () => {
    const bytes = Buffer.from('{}');
    const empty = contextOf({});
    assert.deepEqual([empty.rawBody, empty.takeRawBody(), empty.files], [undefined, undefined, []]);
    const full = contextOf({ rawBody: { bytes } });
    assert.equal(full.rawBody, bytes);
    assert.equal(full.takeRawBody(), bytes);
    assert.deepEqual([full.rawBody, full.takeRawBody()], [undefined, undefined]);
  });
});
