import type { Figure } from '../../bench/support/report-figure.ts';

const BEGIN = '<!-- written by npm run bench -->';
const END = '<!-- end -->';
const HEADER = ['| subject | asked, or peer | measured | bench | when |', '|---|---|---|---|---|'];

/** The figures of one bench run, and when and where they were measured: `2026-11-28 1a2b3c4, load 1.3`. */
export interface BenchRun {
  readonly bench: string;
  readonly figures: readonly Figure[];
  readonly when: string;
}

/** Rounds to at most three significant digits. */
const round = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

function toRow({ subject, unit, measured, asked, peer, spread }: Figure, { bench, when }: BenchRun): string {
  const range = spread === undefined ? '' : ` (${round(spread[0])}–${round(spread[1])})`;
  const cells = [
    subject,
    asked === undefined ? '' : `${round(asked)} ${unit}${peer === undefined ? '' : `, ${peer}`}`,
    `${round(measured)} ${unit}${range}`,
    bench,
    when,
  ];
  return `| ${cells.join(' | ')} |`;
}

/**
 * The document with the figures of these runs in its table. Rows of the same benches are replaced, or removed if the
 * bench no longer reports their subject; rows of other benches are kept.
 *
 * @throws if the document has no place for the table
 */
export function updateFiguresTable(document: string, runs: readonly BenchRun[]): string {
  const renewed = new Map(runs.flatMap((run) => run.figures.map((figure) => [figure.subject, toRow(figure, run)])));
  const kept = readRows(document).flatMap((row) => {
    const [subject = '', , , bench] = cellsOf(row);
    const replacement = renewed.get(subject);
    renewed.delete(subject);
    if (replacement !== undefined) return [replacement];
    return runs.some((run) => run.bench === bench) ? [] : [row];
  });
  const { begin, end } = placeOfTable(document);
  const table = [...HEADER, ...kept, ...renewed.values()].join('\n');
  return `${document.slice(0, begin)}\n\n${table}\n\n${document.slice(end)}`;
}

/** The measured values by subject, as documents show them: without the spread. */
export const readFigures = (document: string): ReadonlyMap<string, string> =>
  new Map(
    readRows(document)
      .map(cellsOf)
      .map(([subject = '', , measured = '']) => [subject, measured.replace(/ \(.*/, '')]),
  );

const cellsOf = (row: string): string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The rows of the table without its header. */
function readRows(document: string): string[] {
  const { begin, end } = placeOfTable(document);
  const lines = document.slice(begin, end).split('\n');
  return lines.filter((line) => line.startsWith('|')).slice(HEADER.length);
}

function placeOfTable(document: string): { readonly begin: number; readonly end: number } {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`no place for the table: ${BEGIN} … ${END}`);
  return { begin: begin + BEGIN.length, end };
}
