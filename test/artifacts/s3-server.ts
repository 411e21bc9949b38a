import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What is used of `@20minutes/s3rver`, which has no types. */
interface S3Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
type S3ServerClass = new (options: Readonly<Record<string, unknown>>) => S3Server;

const require = createRequire(import.meta.url);
const S3rver = require('@20minutes/s3rver') as S3ServerClass;

const BUCKET = 'videos';

/** A real S3 server, which checks signatures, on a free port of loopback. */
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
    /** Settings of a service that keeps its copies there. The keys are the server's own. */
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
