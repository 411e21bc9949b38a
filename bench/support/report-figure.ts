import { appendFileSync } from 'node:fs';

/** One figure of a bench, for the table written by `npm run bench`. */
export interface Figure {
  readonly subject: string;
  readonly unit: string;
  readonly measured: number;
  /** The required value, or that of the peer in the same run. */
  readonly asked?: number;
  /** Name of the peer if `asked` is not a limit: `nginx`, `the same without traces`. */
  readonly peer?: string;
  /** Minimum and maximum of several rounds. */
  readonly spread?: readonly [number, number];
}

/** Appends the figure to the file named by `BENCH_FIGURES`; does nothing when a bench runs on its own. */
export function reportFigure(figure: Figure): void {
  const file = process.env.BENCH_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
