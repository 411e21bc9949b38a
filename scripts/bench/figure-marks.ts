/**
 * Figures in documents carry a mark, an HTML comment that readers do not see:
 *
 * - `76 µs<!--= model call, CPU-->`: the value of this subject in the table of figures, filled in by `npm run bench`;
 * - `28 µs<!--once 2026-11-->`: measured once, of code that no longer exists; covers its line;
 * - `120 ms<!--limit-->`: a limit, size or setting, not a measurement; covers its line.
 */
const MARK = /([≈~]?\d[\d,.]*(?: [^\s|<]+)?)<!--= ([^>]+?)-->/g;
const COVERED_LINE = /<!--(?:once \d{4}-\d{2}(?:-\d{2})?|limit)-->/;
const NUMBER = String.raw`\d[\d,.]*`;
/** Units in which benches report; a product of two numbers is a size. */
const FIGURE = new RegExp(
  `${NUMBER} ?(?:µs|ms|[KM]B|×(?! ?\\d)|/s|[a-z]+/s|(?:[a-z]+ ){0,3}a (?:second|minute)|毫秒|倍)(?![\\w/])|\\d\\.\\d+ (?:s|GB)\\b`,
  'g',
);

/** The document with the current values of its marked figures. @throws on a subject that the table does not have */
export const fillFigures = (document: string, figures: ReadonlyMap<string, string>): string =>
  document.replace(MARK, (_, _value, subject: string) => {
    const value = figures.get(subject);
    if (value === undefined) throw new Error(`the table of figures has no "${subject}"`);
    return `${value}<!--= ${subject}-->`;
  });

/** Lines with a figure that has no mark. Code blocks and the table of figures itself are left out. */
export function findUnmarkedFigures(document: string): string[] {
  const prose = document
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/<!-- written by npm run bench -->[\s\S]*?<!-- end -->/g, '')
    .replace(/`[^`\n]*`/g, '');
  return prose
    .split('\n')
    .filter((line) => !COVERED_LINE.test(line))
    .map((line) => line.replaceAll(MARK, ''))
    .filter((line) => line.match(FIGURE) !== null);
}
