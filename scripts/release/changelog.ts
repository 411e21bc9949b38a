const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

/** @throws Error unless `next` is a valid version above `current` */
export function assertNextVersion(current: string, next: string): void {
  const [from, to] = [current, next].map((version) => VERSION.exec(version)?.slice(1).map(Number));
  if (to === undefined) throw new Error(`"${next}" is not a version; give one like 1.2.3`);
  const at = to.findIndex((part, index) => part !== from?.[index]);
  if (at === -1 || (to[at] ?? 0) < (from?.[at] ?? 0)) throw new Error(`${next} is not above ${current}`);
}

const TITLE = '# Changes\n';

/**
 * The text of CHANGELOG.md with a new section at the top.
 *
 * @param subjects first lines of the commits since the previous release, newest first
 * @param date in the format 2026-01-31
 */
export function addToChangelog(text: string, version: string, date: string, subjects: readonly string[]): string {
  const lines = subjects.filter((subject) => !/^Release \d/.test(subject)).map((subject) => `- ${subject}`);
  const rest = text.replace(TITLE, '').trim();
  return `${TITLE}\n## ${version} (${date})\n\n${lines.join('\n')}\n${rest === '' ? '' : `\n${rest}\n`}`;
}
