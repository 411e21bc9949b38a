import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../src/server/video/vendors/fixtures/', import.meta.url);

/** A vendor's recorded replies by name, the file name without `.json`. */
export function recordedReplies(vendor: string): Readonly<Record<string, unknown>> {
  const files = readdirSync(new URL(`${vendor}/`, folder)).filter((name) => name.endsWith('.json'));
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${vendor}/${name}`, folder), 'utf8'));
  return Object.fromEntries(files.map((name) => [name.slice(0, -'.json'.length), read(name)]));
}
