/** Control characters and direction overrides: with them, text of other users could move the cursor or hide output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Untrusted text made safe for a terminal; tabs and line ends are kept. */
export const replaceControlCharacters = (text: string): string => text.replace(UNSAFE, '\ufffd');

/** Width of a text on a terminal, in columns. */
const displayWidth = (text: string): number => [...text].reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0);

/** A header and rows with aligned columns; trailing empty columns are cut. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replace(/[\t\r\n]+/g, ' ')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Lines `name   value`; those without a value are left out. */
export function formatKeyValues(values: Readonly<Record<string, string | undefined>>): string {
  const shown = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** `3 minutes ago`, `in 2 days`. @param seconds Unix seconds */
export function formatRelativeTime(seconds: number, now = Date.now()): string {
  const distance = seconds - now / 1000;
  const [unit, size] = UNITS.find(([, minimum]) => Math.abs(distance) >= minimum) ?? (['second', 1] as const);
  if (Math.abs(distance) < 60) return distance > 0 ? 'in a moment' : 'just now';
  return new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(Math.trunc(distance / size), unit);
}
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `2026-11-21 12:30`, in the machine's time zone. */
export function formatDateTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `10 minutes`, `45 seconds`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${seconds} second${seconds === 1 ? '' : 's'}`;
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

export const formatBytes = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;

/** `in progress 40%`; the percentage only if it adds information to the status. */
export const formatVideoStatus = ({
  status,
  progress,
}: {
  readonly status: string;
  readonly progress: number;
}): string => `${status.replace('_', ' ')}${status === 'in_progress' && progress > 0 ? ` ${progress}%` : ''}`;

/** `0.028 (14,000 quota)`. */
export const formatQuota = (quota: number, quotaPerUnit: number): string =>
  `${(quota / quotaPerUnit).toLocaleString('en', { maximumFractionDigits: 4 })} (${quota.toLocaleString('en')} quota)`;
