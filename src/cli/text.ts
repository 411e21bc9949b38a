/** Control characters, line and direction overrides: what a stranger's text could move a terminal with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Text of others as a terminal may show it; tabs and line ends stay. */
export const toSafe = (text: string): string => text.replace(UNSAFE, '\ufffd');

/** Columns a text takes on a terminal. */
const widthOf = (text: string): number => [...text].reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0);

/** Rows under a head line, columns aligned; empty columns at the end are cut. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replace(/[\t\r\n]+/g, ' ')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Lines `name   value`, those without a value left out. */
export function toFacts(facts: Readonly<Record<string, string | undefined>>): string {
  const shown = Object.entries(facts).filter(
    (fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== '',
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** `3 minutes ago`, `in 2 days`, by Unix seconds. */
export function toAge(seconds: number, now = Date.now()): string {
  const away = seconds - now / 1000;
  const [unit, size] = UNITS.find(([, least]) => Math.abs(away) >= least) ?? (['second', 1] as const);
  if (Math.abs(away) < 60) return away > 0 ? 'in a moment' : 'just now';
  return new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(Math.trunc(away / size), unit);
}
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `2026-11-21 12:30`, in the machine's time zone. */
export function toTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `10 minutes`, `45 seconds`. */
export function toSpan(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${seconds} second${seconds === 1 ? '' : 's'}`;
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

export const toSize = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
