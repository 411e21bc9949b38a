import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Config } from '../platform/config.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { DiskFileStorage, type MarkedStorage } from './file-storage.ts';
import { S3Client, S3FileStorage } from './s3.ts';

interface ConfiguredFileStorage {
  readonly files: MarkedStorage;
  readonly disk: DiskFileStorage;
  /** Undefined unless ARTIFACTS=s3. */
  readonly s3: S3FileStorage | undefined;
  /** Directory of incoming copies. */
  readonly incomingDirectory: string;
}

/** Creates the storage configured for copies; undefined if copies are disabled. */
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

/**
 * Storage during a move from disk to S3: new copies are stored in S3, and each copy is read from wherever it is. The
 * bucket notes that there is a disk, so that a disk that is not mounted does not make its files count as lost.
 */
class DiskToS3TransitionFileStorage implements MarkedStorage {
  readonly #from: DiskFileStorage;
  readonly #to: S3FileStorage;
  /** Whether this process has noted the disk. */
  #isNoted = false;
  #isDiskMissing = false;
  constructor(from: DiskFileStorage, to: S3FileStorage) {
    this.#from = from;
    this.#to = to;
  }

  put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void> {
    return this.#to.put(id, path, copy);
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    return (await this.#from.open(id, start, end)) ?? this.#to.open(id, start, end);
  }

  async size(id: string): Promise<number | undefined> {
    return (await this.#from.size(id)) ?? this.#to.size(id);
  }

  async remove(id: string): Promise<void> {
    await this.#from.remove(id);
    await this.#to.remove(id);
  }

  async *list(): AsyncGenerator<readonly { readonly id: string; readonly changedAt: number }[]> {
    yield* this.#from.list();
    yield* this.#to.list();
  }

  freeBytes(): Promise<number | undefined> {
    return this.#to.freeBytes();
  }

  /** The marker that was missing at the latest look. */
  get markerName(): string {
    return this.#isDiskMissing ? this.#from.markerName : this.#to.markerName;
  }

  async isMarked(): Promise<boolean> {
    const isMarked = await this.#to.isMarked();
    this.#isDiskMissing = isMarked && !(await this.#hasDisk());
    return isMarked && !this.#isDiskMissing;
  }

  mark(): Promise<void> {
    return this.#to.mark();
  }

  /** Whether the disk is there, or all files have been moved from it. */
  async #hasDisk(): Promise<boolean> {
    if (!(await this.#from.isMarked())) return !(await this.#to.isDiskNoted());
    if (this.#isNoted) return true;
    if (await this.#from.isEmpty()) await forgetDisk(this.#from, this.#to);
    else {
      await this.#to.noteDisk();
      this.#isNoted = true;
    }
    return true;
  }
}

/** After the last file has been moved. In this order, because a service that runs notes a disk with a marker. */
export async function forgetDisk(disk: DiskFileStorage, s3: S3FileStorage): Promise<void> {
  await disk.unmark();
  await s3.forgetDisk();
}

/**
 * Directory in which copies are kept, or in which they arrive before they move to another store: ARTIFACTS_DIR, or next
 * to the SQLite database.
 * @returns undefined if copies are disabled, as for an in-memory database without a directory
 */
export function resolveArtifactsDirectory({
  artifacts,
  artifactsDir,
  databaseUrl,
}: Pick<Config, 'artifacts' | 'artifactsDir' | 'databaseUrl'>): string | undefined {
  if (artifacts === 'off') return undefined;
  if (artifactsDir !== undefined) return resolve(artifactsDir);
  if (databaseUrl === 'sqlite::memory:') return undefined;
  const beside = databaseUrl.startsWith('sqlite:') ? dirname(databaseUrl.slice('sqlite:'.length)) : 'data';
  return resolve(join(beside, 'artifacts'));
}
