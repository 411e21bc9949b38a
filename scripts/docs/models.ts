import { ADAPTERS } from '../../src/server/video/adapters.ts';
import type { ModelCapability, VideoVendor } from '../../src/server/video/vendor.ts';
import { MODEL_EXAMPLES } from './model-examples.ts';

/** The chapters of docs/models.md, one for each vendor: what its models can do, what they cost first, how to ask. */
export function renderModels(): string {
  return `Which models there are, what they can make and how to ask for it. Models are rows an administrator changes: prices below are
those a row begins with, in quota (500,000 are one unit of display currency), and a vendor's model that is missing here can be
added by its name. A price is \`per call + per second × seconds\`, times the factors that apply; it is fixed when a video is
submitted.

Common fields are \`model\`, \`prompt\`, \`image\`, \`images\`, \`duration\` (or \`seconds\`), \`size\` and \`mode\`. What else a vendor
offers goes into \`metadata\`, by the keys of its table; other keys are dropped. A common field that a model has no place for is
refused with HTTP 400 instead of being left out.

${ADAPTERS.map(renderVendor).join('\n\n')}
`;
}

function renderVendor(vendor: VideoVendor): string {
  const keys = keysOf(vendor.metadata as Schema);
  const example = JSON.stringify(MODEL_EXAMPLES[vendor.name], null, 2).replaceAll("'", "'\\''");
  return `## ${vendor.title}

${table(
  ['Model', 'Seconds', 'Frame', 'Modes', 'Sound', 'Pictures', 'First price'],
  vendor.models.map((model) => [
    `\`${model.id}\``,
    secondsOf(model),
    frameOf(model),
    model.modes.join(', ') || '–',
    model.audio ? 'yes' : 'no',
    picturesOf(model),
    priceOf(model),
  ]),
)}

${
  keys.length === 0
    ? 'It has no `metadata`; its own fields stand beside the common ones.'
    : table(['Key of `metadata`', 'Type'], keys)
}

\`\`\`sh
curl "$REELGATE/v1/video/generations" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${example}'
\`\`\``;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function secondsOf({ seconds }: ModelCapability): string {
  const range = 'values' in seconds ? seconds.values.join(', ') : `${seconds.min} to ${seconds.max}`;
  return range === String(seconds.default) ? range : `${range} (${seconds.default})`;
}

const frameOf = ({ sizes, resolutions, ratios }: ModelCapability): string =>
  [resolutions, ratios, sizes]
    .filter((list) => list.length > 0)
    .map((list) => list.join(', '))
    .join('; ') || '–';

const ROLES = { first_frame: 'first frame', last_frame: 'last frame', reference: 'references' } as const;

function picturesOf({ images: { min, max, roles } }: ModelCapability): string {
  if (max === 0) return 'none';
  return `${min === max ? min : `${min} to ${max}`}: ${roles.map((role) => ROLES[role]).join(', ')}`;
}

function priceOf({ price: { per_call, per_second, multipliers = {} } }: ModelCapability): string {
  const number = (value: number) => value.toLocaleString('en-US');
  const base = [
    ...(per_call === 0 ? [] : [`${number(per_call)} a call`]),
    ...(per_second === 0 ? [] : [`${number(per_second)} a second`]),
  ];
  const factors = Object.entries(multipliers).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, times]) => `${factor} ${value} × ${times}`),
  );
  return [...base, ...factors].join('; ');
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

/** Dotted names and types of the leaves. */
function keysOf(schema: Schema, path = ''): string[][] {
  const { properties, items, anyOf } = schema;
  if (properties)
    return Object.entries(properties).flatMap(([key, inner]) => keysOf(inner, path === '' ? key : `${path}.${key}`));
  if (items?.properties) return keysOf(items, `${path}[]`);
  const deep = anyOf?.filter((option) => option.properties ?? option.items?.properties) ?? [];
  if (anyOf && deep.length > 0) {
    const flat = anyOf.filter((option) => !deep.includes(option));
    return [
      ...flat.map((option) => [`\`${path}\``, typeOf(option)]),
      ...deep.flatMap((option) => keysOf(option, path)),
    ];
  }
  return [[`\`${path}\``, typeOf(schema)]];
}

function typeOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  return schema.items ? `list of ${typeOf(schema.items)}` : (schema.type ?? 'anything');
}
