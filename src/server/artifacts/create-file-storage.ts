import { join } from 'node:path';
import type { Config } from '../platform/config.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';
import { DiskFileStorage } from './disk-file-storage.ts';
import { DiskToS3TransitionFileStorage } from './disk-to-s3-transition-file-storage.ts';
import { resolveArtifactsDirectory } from './resolve-artifacts-directory.ts';
import { S3Client } from './s3-client.ts';
import { S3FileStorage } from './s3-file-storage.ts';

export interface ConfiguredFileStorage {
  readonly files: ArtifactFileStorage;
  readonly disk: DiskFileStorage;
  /** Undefined unless ARTIFACTS=s3. */
  readonly s3: S3FileStorage | undefined;
  /** Of copies on their way. */
  readonly incomingDirectory: string;
}

/** The place of copies that the settings name; undefined where copies are switched off. */
export function createFileStorage(config: Config, outbound: OutboundClient): ConfiguredFileStorage | undefined {
  const directory = resolveArtifactsDirectory(config);
  if (directory === undefined) return undefined;
  const incomingDirectory = join(directory, 'incoming');
  const disk = new DiskFileStorage(join(directory, 'files'));
  if (config.artifacts === 'disk') return { files: disk, disk, s3: undefined, incomingDirectory };
  const { artifactsS3Region: region, artifactsS3Endpoint: endpoint = `https://s3.${region}.amazonaws.com` } = config;
  const { artifactsS3Bucket: bucket = '', artifactsS3AccessKey: accessKey = '' } = config;
  const secretKey = config.artifactsS3SecretKey ?? '';
  const client = new S3Client({ endpoint, region, bucket, accessKey, secretKey }, outbound);
  const s3 = new S3FileStorage(client, config.artifactsS3Prefix ?? '');
  return { files: new DiskToS3TransitionFileStorage(disk, s3), disk, s3, incomingDirectory };
}
