import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { it } from 'node:test';
import { TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { openPostgres, parsePostgresUrl, toLibpqUrl } from './postgres.ts';

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

it('asks for the encoding of a password that ends the host', () => {
  for (const password of ['secret#1', '1#secret', 'secret/1', '1/secret', 'secret?1', '1?secret', 'a@secret#c'])
    assert.throws(() => parsePostgresUrl(`postgres://u:${password}@a/x`), /^TypeError: (?!.*secret).*password.*%23/);
  for (const path of ['/x?options=a@b', '?host=/run&user=a@b', '/x', '/x#replica'])
    assert.doesNotThrow(() => parsePostgresUrl(`postgres://a${path}`), path);
});

it('encrypts without verification in the mode require, and verifies in the stricter ones', async (t) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'db.example' }]);
  let encrypted = 0;
  // Answers the request for TLS as a server does, and ends the connection after the handshake.
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      const secured = new TLSSocket(socket, { isServer: true, key, cert });
      secured.on('error', () => {});
      secured.once('data', () => {
        encrypted++;
        secured.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const cases = [
    ['sslmode=require', 1, /Connection terminated/],
    ['sslmode=prefer', 1, /Connection terminated/],
    ['sslmode=verify-ca', 0, /self-signed certificate.*\(name its authority/],
    ['sslmode=verify-full', 0, /self-signed certificate.*\(name its authority/],
    ['sslmode=require&sslrootcert=system', 0, /self-signed certificate/],
    ['sslmode=verify-full&sslrootcert=%2Fmissing.pem', 0, /missing\.pem'$/],
  ] as const;
  for (const [query, times, failure] of cases) {
    encrypted = 0;
    const database = openPostgres(`postgres://u:p@127.0.0.1:${port}/x?${query}`, {});
    await assert.rejects(database.ping(), failure, query);
    assert.equal(encrypted, times, query);
    await database.close();
  }
});
