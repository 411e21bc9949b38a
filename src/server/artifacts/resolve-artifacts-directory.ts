import { dirname, join, resolve } from 'node:path';
import type { Config } from '../platform/config.ts';

/**
 * Where copies are kept, or pass through on their way to another store: under ARTIFACTS_DIR, else beside the SQLite database.
 * @returns undefined where copies are switched off, as they are for a database in memory without a directory
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
