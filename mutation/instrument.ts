import type { Mutant, TextRange } from './mutants.ts';

/** A mutant with the number that activates it. */
export type NumberedMutant = Mutant & { readonly id: number };

interface Host extends TextRange {
  readonly isStatement: boolean;
  readonly mutants: NumberedMutant[];
  readonly inside: Host[];
}

/** Name of the function that tells whether a mutant is active; `load-hook.ts` defines it. */
export const SWITCH = '__isMutated';

/**
 * Combines all mutants of a file into one text that selects the active one at run time (mutant schemata). A single text
 * then serves all runs and shows which mutants a test file reaches.
 */
export function instrument(text: string, mutants: readonly NumberedMutant[]): string {
  return render(text, { start: 0, end: text.length, isStatement: true, mutants: [], inside: nest(mutants) });
}

/** Hosts are nodes of one syntax tree, so any two are nested or disjoint. */
function nest(mutants: readonly NumberedMutant[]): Host[] {
  const byRange = Map.groupBy(mutants, ({ host }) => `${host.start}-${host.end}`);
  const hosts = [...byRange.values()].flatMap((own): Host[] => {
    const host = own[0]?.host;
    return host === undefined ? [] : [{ ...host, mutants: own, inside: [] }];
  });
  hosts.sort((one, other) => one.start - other.start || other.end - one.end);
  const outermost: Host[] = [];
  const around: Host[] = [];
  for (const host of hosts) {
    while ((around.at(-1)?.end ?? host.end) < host.end) around.pop();
    while (around.length > 0 && (around.at(-1)?.end ?? 0) <= host.start) around.pop();
    (around.at(-1)?.inside ?? outermost).push(host);
    around.push(host);
  }
  return outermost;
}

function render(text: string, host: Host): string {
  let original = '';
  let at = host.start;
  for (const inner of host.inside) {
    original += text.slice(at, inner.start) + render(text, inner);
    at = inner.end;
  }
  original += text.slice(at, host.end);
  if (host.mutants.length === 0) return original;
  const changed = ({ start, end, replacement }: NumberedMutant) =>
    text.slice(host.start, start) + replacement + text.slice(end, host.end);
  const test = ({ id }: NumberedMutant) => `globalThis.${SWITCH}(${id})`;
  return host.isStatement
    ? `{ ${host.mutants.map((each) => `if (${test(each)}) { ${changed(each)} } else `).join('')}{ ${original} } }`
    : `(${host.mutants.map((each) => `${test(each)} ? (${changed(each)}) : `).join('')}(${original}))`;
}
