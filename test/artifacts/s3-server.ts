import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The part of `@20minutes/s3rver` that is used; the package has no types. */
interface S3Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
type S3ServerClass = new (options: Readonly<Record<string, unknown>>) => S3Server;

const require = createRequire(import.meta.url);
const S3rver = require('@20minutes/s3rver') as S3ServerClass;

const BUCKET = 'videos';

/** Starts a real S3 server, which verifies signatures, on a free loopback port. */
export async function startS3Server() {
  const directory = await mkdtemp(join(tmpdir(), 'rg-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET }],
  });
  const { port: inner } = await server.run();
  const denied = new Set<string>();
  // The server has no permissions, so a proxy refuses the methods that a key may not use.
  const proxy = createServer((incoming, outgoing) => {
    if (denied.has(incoming.method ?? '')) {
      incoming.resume();
      outgoing.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      return;
    }
    const { method, url, headers } = incoming;
    const forwarded = request({ port: inner, host: '127.0.0.1', method, path: url, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    /** Methods that the key may not use. */
    denied,
    /** Settings of a service that stores its copies there, with the server's own keys. */
    env: {
      ARTIFACTS: 's3',
      ARTIFACTS_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      ARTIFACTS_S3_BUCKET: BUCKET,
      ARTIFACTS_S3_PREFIX: 'copies/',
      ARTIFACTS_S3_ACCESS_KEY: 'S3RVER',
      ARTIFACTS_S3_SECRET_KEY: 'S3RVER',
    },
    async stop() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
