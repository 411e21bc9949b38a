import { parseObject } from './column-values.ts';

/**
 * Names of the upstream by public name. The source follows chains (a to b to c ends at c), takes a name that is mapped to
 * itself as not mapped, and refuses a circle.
 */
export function resolveModelMappingChains(text: string): {
  readonly mapping: Readonly<Record<string, string>>;
  readonly circular: readonly string[];
} {
  const pairs = Object.entries(parseObject(text) ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && pair[1] !== '' && pair[1] !== pair[0],
  );
  const next = new Map(pairs);
  const mapping: [string, string][] = [];
  const circular: string[] = [];
  for (const [name] of pairs) {
    const end = endOf(name, next);
    if (end === undefined) circular.push(name);
    else if (end !== name) mapping.push([name, end]);
  }
  return { mapping: Object.fromEntries(mapping), circular };
}

/** Undefined where the chain never ends. */
function endOf(name: string, next: ReadonlyMap<string, string>): string | undefined {
  const seen = new Set<string>();
  let at = name;
  for (let to = next.get(at); to !== undefined; to = next.get(at)) {
    if (seen.has(at)) return undefined;
    seen.add(at);
    at = to;
  }
  return at;
}
