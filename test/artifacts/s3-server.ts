import { mkdtemp, rm } from 'node:fs/promises';
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
  const { port } = await server.run();
  return {
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
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
