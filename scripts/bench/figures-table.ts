import type { Figure } from '../../bench/support/report-figure.ts';

const BEGIN = '<!-- written by npm run bench -->';
const END = '<!-- end -->';

/** Rounds to at most three significant digits. */
const round = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

function toRow({ subject, unit, measured, asked, peer, spread }: Figure): string {
  const range = spread === undefined ? '' : ` (${round(spread[0])}–${round(spread[1])})`;
  const cells = [
    subject,
    asked === undefined ? '' : `${round(asked)} ${unit}${peer === undefined ? '' : `, ${peer}`}`,
    `${round(measured)} ${unit}${range}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The document with its table replaced by one of these figures. @throws if the document has no table to replace */
export const replaceFiguresTable = (document: string, figures: readonly Figure[], madeOn: string): string =>
  withTable(document, [madeOn], figures.map(toRow));

/**
 * The document with these figures replacing those of the same subjects; all other rows are kept.
 *
 * @param repeated names of the benches that produced the figures, for the line that says so
 */
export function updateFiguresTable(
  document: string,
  figures: readonly Figure[],
  repeated: readonly string[],
  madeOn: string,
): string {
  const { notes, rows } = readTable(document);
  const renewed = new Map(figures.map((figure) => [figure.subject, toRow(figure)]));
  const kept = rows.map((row) => take(renewed, subjectOf(row)) ?? row);
  const earlier = notes.flatMap((note) => withoutNames(note, repeated));
  return withTable(document, [...earlier, toNote(repeated, madeOn)], [...kept, ...renewed.values()]);
}

const toNote = (names: readonly string[], madeOn: string): string => `Again: ${names.join(', ')}: ${madeOn}`;

/** A line about earlier repetitions, without the benches repeated now. */
function withoutNames(note: string, repeated: readonly string[]): string[] {
  const [, names, madeOn] = /^Again: ([a-z-]+(?:, [a-z-]+)*): (.*)$/.exec(note) ?? [];
  if (names === undefined || madeOn === undefined) return [note];
  const left = names.split(', ').filter((name) => !repeated.includes(name));
  return left.length === 0 ? [] : [toNote(left, madeOn)];
}

function take(rows: Map<string, string>, subject: string): string | undefined {
  const row = rows.get(subject);
  rows.delete(subject);
  return row;
}

const subjectOf = (row: string): string => row.split('|')[1]?.trim() ?? '';

/** The lines before the table, and its rows without the header. */
function readTable(document: string): { readonly notes: readonly string[]; readonly rows: readonly string[] } {
  const { begin, end } = placeOfTable(document);
  const lines = document.slice(begin, end).split('\n').filter(Boolean);
  const isRow = (line: string): boolean => line.startsWith('|');
  return { notes: lines.filter((line) => !isRow(line)), rows: lines.filter(isRow).slice(2) };
}

function placeOfTable(document: string): { readonly begin: number; readonly end: number } {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`no place for the table: ${BEGIN} … ${END}`);
  return { begin: begin + BEGIN.length, end };
}

function withTable(document: string, notes: readonly string[], rows: readonly string[]): string {
  const { begin, end } = placeOfTable(document);
  const table = ['| subject | asked, or peer | measured |', '|---|---|---|', ...rows].join('\n');
  return `${document.slice(0, begin)}\n${notes.join('\n')}\n\n${table}\n\n${document.slice(end)}`;
}
