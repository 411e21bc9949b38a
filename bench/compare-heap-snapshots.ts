/**
 * Lists what grew between two heap snapshots of one process (`memory-soak.ts --snapshots`):
 * `node bench/compare-heap-snapshots.ts first second`. Objects by type and constructor, most bytes first.
 */
import { readFileSync } from 'node:fs';

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly (string | readonly string[])[];
    };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

interface Sum {
  count: number;
  bytes: number;
}

/** Types whose objects have individual names, such as strings and code, and are therefore grouped by type only. */
const NAMELESS = new Set(['string', 'concatenated string', 'sliced string', 'number', 'bigint', 'symbol']);

function sumsOf(file: string): Map<string, Sum> {
  const { snapshot, nodes, strings } = JSON.parse(readFileSync(file, 'utf8')) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, name, size] = ['type', 'name', 'self_size'].map((field) => fields.indexOf(field)) as [
    number,
    number,
    number,
  ];
  const sums = new Map<string, Sum>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[type]?.[nodes[at + type] ?? 0] ?? '';
    const key = NAMELESS.has(kind) ? kind : `${kind} ${strings[nodes[at + name] ?? 0]?.slice(0, 80)}`;
    const sum = sums.get(key) ?? { count: 0, bytes: 0 };
    sum.count += 1;
    sum.bytes += nodes[at + size] ?? 0;
    sums.set(key, sum);
  }
  return sums;
}

const [first, second] = process.argv.slice(2).map(sumsOf);
if (first === undefined || second === undefined) throw new Error('give two heap snapshots');
const changes = [...new Set([...first.keys(), ...second.keys()])].map((key) => ({
  key,
  bytes: (second.get(key)?.bytes ?? 0) - (first.get(key)?.bytes ?? 0),
  count: (second.get(key)?.count ?? 0) - (first.get(key)?.count ?? 0),
}));
console.log(`in all: ${changes.reduce((sum, { bytes }) => sum + bytes, 0)} bytes`);
for (const { key, bytes, count } of changes.toSorted((a, b) => b.bytes - a.bytes).slice(0, 60))
  console.log(`${bytes} bytes, ${count} objects: ${key}`);
