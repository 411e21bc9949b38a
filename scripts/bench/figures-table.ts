import type { Figure } from '../../bench/support/report-figure.ts';

const BEGIN = '<!-- written by npm run bench -->';
const END = '<!-- end -->';

/** At most three digits that mean something. */
const round = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

function toRow({ subject, unit, measured, asked, peer, spread }: Figure): string {
  const range = spread === undefined ? '' : ` (${round(spread[0])}–${round(spread[1])})`;
  const cells = [
    subject,
    asked === undefined ? '' : `${round(asked)} ${unit}${peer === undefined ? '' : `, ${peer}`}`,
    `${round(measured)} ${unit}${range}`,
    asked === undefined || asked === 0 ? '' : (measured / asked).toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The document with the table of these figures in the place of the one before. @throws where it has no place for one */
export function replaceFiguresTable(document: string, figures: readonly Figure[], madeOn: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`no place for the table: ${BEGIN} … ${END}`);
  const table = ['| subject | asked, or peer | measured | ratio |', '|---|---|---|---|', ...figures.map(toRow)].join(
    '\n',
  );
  return `${document.slice(0, begin + BEGIN.length)}\n${madeOn}\n\n${table}\n\n${document.slice(end)}`;
}
