import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { NO_TRACING, type Span, type SpanAttributes, type SpanOptions, type Tracing } from '../tracing/tracing.ts';
import { traceRequest } from './server.ts';

/** The span recorded for a request that was answered with this status. */
function record(request: { readonly method?: string; readonly url?: string; readonly headers?: object }, status = 200) {
  let started: SpanOptions | undefined;
  let ranIn: Span | undefined;
  let name = '';
  const attributes: Record<string, unknown> = {};
  const ends: (string | undefined)[] = [];
  const span: Span = {
    traceparent: '',
    set: (more: SpanAttributes) => void Object.assign(attributes, more),
    rename: (to) => {
      name = to;
    },
    end: (errorType) => void ends.push(errorType),
  };
  const tracing: Tracing = {
    ...NO_TRACING,
    start(options) {
      started = options;
      return span;
    },
    run(within, work) {
      ranIn = within;
      return work();
    },
  };
  const response = Object.assign(new EventEmitter(), { statusCode: status });
  let handled = 0;
  const incoming = { headers: {}, ...request } as IncomingMessage;
  traceRequest(tracing, incoming, response as unknown as ServerResponse, () => {
    handled += 1;
  });
  const endsBefore = ends.length;
  response.emit('close');
  assert.deepEqual([handled, ranIn === span, endsBefore, ends.length], [1, true, 0, 1]);
  return { started, name, attributes, error: ends[0] };
}

describe('request span', () => {
  it("continues the caller's trace, and lasts until the response is closed", () => {
    const { started, name, attributes, error } = record({
      method: 'POST',
      url: '/v1/videos',
      headers: { traceparent: '00-a-b-01' },
    });
    assert.deepEqual(started, { name: 'POST', kind: 'server', parent: '00-a-b-01' });
    assert.equal(name, 'POST /v1/videos');
    assert.deepEqual(attributes, {
      'http.request.method': 'POST',
      'url.path': '/v1/videos',
      'http.response.status_code': 200,
    });
    assert.equal(error, undefined);
  });

  it('fails only for internal errors', () => {
    const errors = [200, 404, 499, 500, 503].map((status) => record({ url: '/' }, status).error);
    assert.deepEqual(errors, [undefined, undefined, undefined, '500', '503']);
  });

  it('omits the query, whatever it contains', () => {
    const { attributes } = record({ url: '/v1/models?key=secret&x=1' });
    assert.equal(attributes['url.query'], 'REDACTED');
    assert.doesNotMatch(JSON.stringify(attributes), /secret/);
    assert.ok(!('url.query' in record({ url: '/v1/models' }).attributes));
    assert.equal(record({ url: '/v1/models?' }).attributes['url.query'], 'REDACTED');
  });

  it('omits the token of a share link, on the page and below it', () => {
    for (const url of ['/s/s3cret', '/s/s3cret/content'])
      assert.doesNotMatch(JSON.stringify(record({ url })), /s3cret/, url);
    assert.equal(record({ url: '/s/s3cret/content' }).attributes['url.path'], '/s/{token}/content');
    assert.equal(record({ url: '/site/s/name' }).attributes['url.path'], '/site/s/name');
  });

  it('is named after the first segments of the path, without ids', () => {
    for (const [url, expected] of [
      ['/', 'GET /'],
      ['/v1beta/models/list', 'GET /v1beta/models/list'],
      ['/v1/videos/task_1/content', 'GET /v1/videos/{id}'],
      ['/v1/videos/TASK_A', 'GET /v1/videos/{id}'],
      [`/api/${'a'.repeat(24)}`, `GET /api/${'a'.repeat(24)}`],
      [`/api/${'a'.repeat(25)}`, 'GET /api/{id}'],
      ['/a/b/c/d', 'GET /a/b/c'],
      [undefined, 'GET '],
    ] as const)
      assert.equal(record({ ...(url !== undefined && { url }) }).name, expected);
  });

  it('does not exist when tracing is off', () => {
    let handled = 0;
    traceRequest(NO_TRACING, { headers: {} } as IncomingMessage, {} as ServerResponse, () => {
      handled += 1;
    });
    assert.equal(handled, 1);
  });
});
