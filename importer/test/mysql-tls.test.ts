import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { it, type TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { openSource } from '../open-source.ts';

const CLIENT_SSL = 0x800;
const SSL_REQUEST_BYTES = 36;

const packet = (number: number, ...parts: (string | readonly number[])[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.from([body.length, 0, 0, number]), body]);
};

/** The greeting of a server with TLS (MySQL's "Protocol::HandshakeV10"). */
const GREETING = packet(
  0,
  [10],
  '8.0.11-TiDB-v8.5.3\0',
  [1, 0, 0, 0],
  'saltsalt\0',
  [0x01, 0x8a, 45, 2, 0, 0x08, 0, 21],
  '\0'.repeat(10),
  'saltsaltsalt\0',
  'mysql_native_password\0',
);
const errorPacket = (number: number, code: number, message: string): Buffer =>
  packet(number, [0xff, code & 0xff, code >> 8], `#HY000${message}`);

/** A server that takes no connection without TLS, and no password. */
async function startServer(t: TestContext): Promise<string> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'db.example' }]);
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {}).write(GREETING);
    socket.once('data', (sent: Buffer) => {
      if ((sent.readUInt32LE(4) & CLIENT_SSL) === 0)
        return socket.end(errorPacket(2, 1105, 'Connections using insecure transport are prohibited.'));
      // The handshake follows the request for it at once.
      socket.pause().unshift(sent.subarray(SSL_REQUEST_BYTES));
      const secured = new TLSSocket(socket, { isServer: true, key, cert });
      secured.on('error', () => {}).once('data', () => secured.end(errorPacket(3, 1045, 'Access denied')));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `mysql://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/old`;
}

it('uses TLS where a MySQL server asks for it, and verifies unless told otherwise', async (t) => {
  const url = await startServer(t);
  for (const [query, reason] of [
    ['', /self-signed certificate/],
    ['?tls=true', /self-signed certificate/],
    ['?tls=skip-verify', /Access denied/],
    ['?tls=preferred', /self-signed certificate/],
    ['?tls=false', /insecure transport/],
    ['?tls=verify_identity', /tls must be one of true, skip-verify, preferred, false$/],
    ['?tls=constructor', /tls must be/],
  ] as const)
    await assert.rejects(openSource(url + query), reason, query);
});

it('shows no part of a password that is not encoded', async () => {
  for (const scheme of ['mysql', 'postgres'])
    await assert.rejects(
      openSource(`${scheme}://u:123#secret@db/x`),
      /^Error: Encode the password(?!.*(?:123|secret))/,
    );
});
