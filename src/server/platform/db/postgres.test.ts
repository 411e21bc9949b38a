import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parsePostgresUrl } from './postgres.ts';

it('reads one or several hosts, each combined with the rest of the URL', () => {
  const cases = [
    ['postgres://u:p@db/x', ['postgres://u:p@db/x'], false, undefined],
    ['postgresql://u@db:6432/x?poolMax=25', ['postgresql://u@db:6432/x'], false, 25],
    [
      'postgres://u:p%40@a:5432,[::1]:5433/x?sslmode=require',
      ['postgres://u:p%40@a:5432/x?sslmode=require', 'postgres://u:p%40@[::1]:5433/x?sslmode=require'],
      true,
      undefined,
    ],
    ['postgres://a,b/x?target_session_attrs=any', ['postgres://a/x', 'postgres://b/x'], false, undefined],
    ['postgres://a/x?target_session_attrs=primary', ['postgres://a/x'], true, undefined],
    ['postgres://u@localhost/x?host=%2Frun', ['postgres://u@localhost/x?host=%2Frun'], false, undefined],
  ] as const;
  for (const [url, hostUrls, mustBeWritable, poolMax] of cases)
    assert.deepEqual(parsePostgresUrl(url), { hostUrls, mustBeWritable, poolMax }, url);
});

it('explains a bad URL without repeating its password', () => {
  for (const url of [
    'http://a',
    'postgres://u:word@a,,b/x',
    'postgres://u:word@a:port/x',
    'postgres://u:word@a/x?poolMax=x',
  ])
    assert.throws(
      () => parsePostgresUrl(url),
      (error) => error instanceof TypeError && !error.message.includes('word'),
      url,
    );
});
