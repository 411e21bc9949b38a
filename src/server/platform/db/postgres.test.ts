import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parsePostgresUrl, toLibpqUrl } from './postgres.ts';

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

it('names the server to the programs of PostgreSQL without its password', () => {
  const cases = [
    ['postgres://u:p%40:q@db:5432/x?poolMax=25', 'postgres://u@db:5432/x'],
    ['postgres://u:p@a:5432,b:5433/x', 'postgres://u@a:5432,b:5433/x?target_session_attrs=read-write'],
    ['postgres://u:p@a,b/x?target_session_attrs=any', 'postgres://u@a,b/x?target_session_attrs=any'],
    ['postgresql://u:p@/x?host=/run/postgresql', 'postgresql://u@/x?host=%2Frun%2Fpostgresql'],
    ['postgres:///x?user=u&password=p&options=-c%20a%3Db', 'postgres:///x?user=u&options=-c%20a%3Db'],
    ['postgres://[::1]:5433/x', 'postgres://[::1]:5433/x'],
  ] as const;
  for (const [url, expected] of cases) assert.equal(toLibpqUrl(url), expected, url);
});
