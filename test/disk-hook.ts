import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';

/**
 * Preloaded instead of the shim (disk-shim.ts) where there is no C compiler. Sees only flushes by this process's own
 * code, so it is equivalent as long as SQLite itself flushes nothing: before the first checkpoint.
 */
const { DISK_FOLDER: folder, DISK_COPIES: copies } = process.env;
const real = fs.fdatasync;
fs.fdatasync = ((fd: number, callback: (error: NodeJS.ErrnoException | null) => void) => {
  const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
  if (copies === undefined || dirname(path) !== folder || !path.endsWith('-wal')) return real(fd, callback);
  const draft = join(copies, 'draft');
  // Closing another descriptor of the log releases no lock, unlike one of the database.
  fs.copyFileSync(path, draft);
  real(fd, (error) => {
    if (error === null) fs.renameSync(draft, join(copies, basename(path)));
    callback(error);
  });
}) as typeof fs.fdatasync;
syncBuiltinESMExports();
