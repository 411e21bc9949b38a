import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Replaces `fsync` and `fdatasync` of a process. `DISK_DELAY_MS` delays them. `DISK_COPIES` names a folder that
 * receives a copy of each file of `DISK_FOLDER` as it was when its last successful flush began: what a power failure
 * leaves at least. The copy is read through the flushed descriptor, because closing another one of the same file would
 * release SQLite's locks.
 */
const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_disk(void) {
  const char *ms = getenv("DISK_DELAY_MS");
  if (ms == NULL) return;
  struct timespec left = { atoi(ms) / 1000, (atoi(ms) % 1000) * 1000000L };
  while (nanosleep(&left, &left) != 0) {}
}

static int copy_to(const char *draft, int fd) {
  int out = open(draft, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (out < 0) return 0;
  static char bytes[65536];
  off_t at = 0;
  ssize_t n;
  while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
    if (write(out, bytes, n) != n) break;
    at += n;
  }
  close(out);
  return 1;
}

static int flush(const char *name, int fd) {
  int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
  const char *folder = getenv("DISK_FOLDER"), *copies = getenv("DISK_COPIES");
  char link[64], path[2048], draft[4200], copy[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  const char *file = strrchr(path, '/');
  int kept = folder != NULL && copies != NULL && file != NULL && strlen(folder) == (size_t) (file - path)
    && strncmp(folder, path, file - path) == 0;
  if (!kept) {
    wait_for_disk();
    return real(fd);
  }
  pthread_mutex_lock(&copying);
  snprintf(draft, sizeof draft, "%s%s.draft", copies, file);
  snprintf(copy, sizeof copy, "%s%s", copies, file);
  kept = copy_to(draft, fd);
  wait_for_disk();
  int result = real(fd);
  if (result == 0 && kept) rename(draft, copy);
  pthread_mutex_unlock(&copying);
  return result;
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }
`;

/** The shim for child processes. */
export interface DiskShim {
  /** Loads it. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it sees SQLite's own flushes and can delay them; false without a C compiler. */
  readonly isWhole: boolean;
}

/** Compiles the shim. */
export function buildDiskShim(): DiskShim {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-shim-'));
  const [source, library] = [join(folder, 'shim.c'), join(folder, 'shim.so')];
  writeFileSync(source, SOURCE);
  const options = ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'];
  const { error, status, stderr } = spawnSync('cc', options, { encoding: 'utf8' });
  if (error !== undefined)
    return { env: { NODE_OPTIONS: `--import ${join(import.meta.dirname, 'disk-hook.ts')}` }, isWhole: false };
  if (status !== 0) throw new Error(stderr);
  return { env: { LD_PRELOAD: library }, isWhole: true };
}

/** A disk writes whole sectors. */
const SECTOR_BYTES = 512;
/** Share of the unflushed sectors that reached the disk. */
const SHARES = [0, 0.1, 0.5, 0.9, 1] as const;

/**
 * Writes to `target` what a disk may hold after a power failure: of each sector written since the last flush, the old
 * or the new content, at random.
 * @param flushed the copy made at the last flush; absent: nothing was flushed
 */
export function losePower(written: string, flushed: string, target: string, random: () => number): void {
  if (!existsSync(written)) return;
  const [now, before] = [readFileSync(written), existsSync(flushed) ? readFileSync(flushed) : Buffer.alloc(0)];
  const share = SHARES[Math.floor(random() * SHARES.length)] ?? 0;
  const left = Buffer.alloc(random() < share ? now.length : before.length);
  for (let at = 0; at < left.length; at += SECTOR_BYTES) {
    const from = random() < share && at < now.length ? now : before;
    if (at < from.length) from.copy(left, at, at, Math.min(at + SECTOR_BYTES, left.length));
  }
  writeFileSync(target, left);
}
