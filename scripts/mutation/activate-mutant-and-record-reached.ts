import { SWITCH } from './instrument.ts';

/** Mutants of code that runs while modules are loaded. */
export const reachedAtLoad = new Set<number>();

let active: number | undefined;
let reached: Set<number> | undefined = reachedAtLoad;

/** Switches one mutant on, or all off. */
export function activate(id: number | undefined): void {
  active = id;
}

/** From now on the numbers of mutants whose place is run are added to `into`. */
export function recordInto(into: Set<number> | undefined): void {
  reached = into;
}

Object.assign(globalThis, {
  [SWITCH]: (id: number): boolean => {
    reached?.add(id);
    return id === active;
  },
});
