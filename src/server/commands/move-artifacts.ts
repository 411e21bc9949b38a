import { ArtifactStore } from '../artifacts/artifact-store.ts';
import { createFileStorage } from '../artifacts/create-storage.ts';
import { type MoveReport, moveToS3 } from '../artifacts/move-to-s3.ts';
import { loadConfig } from '../platform/config.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import type { Tables } from '../tables.ts';

/**
 * Moves stored videos from ARTIFACTS_DIR to the configured bucket.
 * @throws if ARTIFACTS is not s3
 */
export async function moveArtifactsToS3(): Promise<MoveReport> {
  const { config } = loadConfig();
  const outbound = openOutbound();
  const database = openDatabase<Tables>(config.databaseDirectUrl ?? config.databaseUrl, { isCommand: true });
  try {
    const opened = createFileStorage(config, outbound);
    if (opened?.s3 === undefined)
      throw new Error('Set ARTIFACTS=s3 and the ARTIFACTS_S3 settings first, and restart the service with them.');
    return await moveToS3(new ArtifactStore(database), opened.disk, opened.s3);
  } finally {
    await database.close();
    await outbound.close();
  }
}
