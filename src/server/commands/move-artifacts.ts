import { createHash } from 'node:crypto';
import { type ArtifactRow, ArtifactStore } from '../artifacts/artifact-store.ts';
import { createFileStorage, forgetDisk } from '../artifacts/create-storage.ts';
import type { DiskFileStorage } from '../artifacts/file-storage.ts';
import type { S3FileStorage } from '../artifacts/s3.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import { withServiceDatabase } from './service-database.ts';

/**
 * Moves stored videos from ARTIFACTS_DIR to the configured bucket.
 * @throws if ARTIFACTS is not s3
 */
export const moveArtifactsToS3 = (): Promise<MoveReport> =>
  withServiceDatabase(async (database, config) => {
    const outbound = openOutbound();
    try {
      const opened = createFileStorage(config, outbound);
      if (opened?.s3 === undefined)
        throw new Error('Set ARTIFACTS=s3 and the ARTIFACTS_S3 settings first, and restart the service with them.');
      return await moveToS3(new ArtifactStore(database), opened.disk, opened.s3);
    } finally {
      await outbound.close();
    }
  });

/** Result of moving copies to S3. */
export interface MoveReport {
  readonly moved: number;
  readonly bytes: number;
  /** Copies that were at S3 already. */
  readonly skipped: number;
  /** Copies that are missing or differ from their stored hash; left as they are. */
  readonly bad: readonly string[];
}

const BATCH = 100;

/**
 * Moves stored copies from disk to S3, sequentially: each copy is read and compared with its hash, uploaded, and
 * removed from the disk once S3 has it in full. The move can be interrupted and repeated, and the service may run
 * meanwhile with ARTIFACTS=s3. After the last copy, the disk is no longer needed.
 */
export async function moveToS3(store: ArtifactStore, disk: DiskFileStorage, s3: S3FileStorage): Promise<MoveReport> {
  const report = { moved: 0, bytes: 0, skipped: 0, bad: [] as string[] };
  for (let after = ''; ; ) {
    const rows = await store.listStored(after, BATCH);
    for (const row of rows) {
      const outcome = await moveOne(row, disk, s3);
      if (outcome === 'bad') report.bad.push(row.task_id);
      else report[outcome] += 1;
      if (outcome === 'moved') report.bytes += row.bytes;
    }
    if (rows.length < BATCH) break;
    after = rows.at(-1)?.id ?? '';
  }
  if (report.bad.length === 0) await forgetDisk(disk, s3);
  return report;
}

async function moveOne(
  row: ArtifactRow,
  disk: DiskFileStorage,
  s3: S3FileStorage,
): Promise<'moved' | 'skipped' | 'bad'> {
  const body = await disk.open(row.id, 0, row.bytes - 1);
  if (body === undefined) return (await s3.size(row.id)) === row.bytes ? 'skipped' : 'bad';
  const hash = createHash('sha256');
  for await (const chunk of body as AsyncIterable<Buffer>) hash.update(chunk);
  if (hash.digest('hex') !== row.sha256 || (await disk.size(row.id)) !== row.bytes) return 'bad';
  // Also removes the local file after the upload.
  await s3.put(row.id, disk.pathOf(row.id), row);
  return 'moved';
}
