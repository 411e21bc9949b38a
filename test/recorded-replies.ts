import { readFileSync } from 'node:fs';

/**
 * A vendor's recorded replies by name.
 *
 * @param file the vendor's folder, followed by the file name without `.json` unless it is `replies`: `wan`,
 * `hailuo/h3-replies`
 */
export function recordedReplies(file: string): Readonly<Record<string, unknown>> {
  const path = file.includes('/') ? file : `${file}/replies`;
  return JSON.parse(readFileSync(new URL(`../src/server/vendors/${path}.json`, import.meta.url), 'utf8'));
}
