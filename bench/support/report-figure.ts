import { appendFileSync } from 'node:fs';

/** One figure of a bench, for the table that `npm run bench` writes. */
export interface Figure {
  readonly subject: string;
  readonly unit: string;
  readonly measured: number;
  /** What was asked for, or what the peer in the same run does. */
  readonly asked?: number;
  /** What `asked` is, where it is no limit: `nginx`, `the same without traces`. */
  readonly peer?: string;
  /** Least and most of several rounds. */
  readonly spread?: readonly [number, number];
}

/** Adds the figure to the file named by `BENCH_FIGURES`; nothing where a bench runs alone. */
export function reportFigure(figure: Figure): void {
  const file = process.env.BENCH_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
