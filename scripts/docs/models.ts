import type { MediaLine, VideoPrice } from '../../src/contract/pricing.ts';
import type { ModelCapability, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';

/** docs/models.md: what holds for every vendor, and the list of the vendors' pages. */
export function renderModelIndex(): string {
  const vendors = VENDOR_ADAPTERS.map(({ name, title, models }) => {
    const audio = models.filter((model) => model.audio).length;
    return [
      `[${title}](models/${name}.md)`,
      String(models.length),
      secondsRange(models),
      audio === 0 ? '–' : String(audio),
    ];
  });
  return `# Video models

Each vendor has a page with its models, what they can do, their initial prices and a call to copy:

${table(['Vendor', 'Models', 'Seconds', 'With sound'], vendors)}

Models are rows that an administrator can change. The pages show the values a row starts with, prices in quota (500,000
quota are one unit of the display currency). A model of a vendor that is not listed can be added by its name.

A price is \`per call + per second × seconds\`, times the multipliers that apply, or the first of its lines whose facts fit
([prices.md](prices.md)). It is fixed when a video is submitted. Lists in yuan are converted at 7 a unit. A price whose list says
"unconfirmed" is older than any copy of the list that was found: compare it before you rely on it.

Common fields are \`model\`, \`prompt\`, \`image\`, \`images\`, \`duration\` (or \`seconds\`), \`size\` and \`mode\`. Vendor-specific
parameters go into \`metadata\`, under the keys its page lists; other keys are dropped and named in the response header
\`x-reelgate-dropped\`. A common field that a model does not support is rejected with HTTP 400, never ignored.

Pictures are also read from fields of other APIs whose meaning is clear (\`image_url\`, \`first_frame_image\`, \`last_frame\`,
\`reference_images\` and their like), as a text, an object with \`url\` or \`image_url\`, or a list. Media in any other field is rejected
by its name. Numbers may be texts and the reverse (\`seconds: 4\`, \`duration: "5"\`); an empty or null field is absent.

These ids are not in the lists, as no page of the vendor with their limits and their price was found; add them by name where your account has them:
\`wan2.2-t2v-flash\` (only other clients name it), \`wan2.6-t2v-us\` and \`wan2.6-i2v-us\` (the United States region; Wan 2.6 is reported to have
ended in October 2026).

In the calls, \`REELGATE\` is the service's base URL (\`http://127.0.0.1:3000\`) and \`KEY\` an API key.
`;
}

/** The page of one vendor, docs/models/NAME.md. */
export function renderVendorPage(vendor: VendorAdapter): string {
  const keys = keysOf(vendor.metadata as Schema);
  const example = JSON.stringify(vendor.example, null, 2).replaceAll("'", "'\\''");
  return `# ${vendor.title}

What the columns and fields mean: [models.md](../models.md).

${table(
  ['Model', 'Seconds', 'Frame', 'Modes', 'Sound', 'Images', 'Initial price'],
  vendor.models.map((model) => [
    `\`${model.id}\``,
    secondsOf(model),
    frameOf(model),
    model.modes.join(', ') || '–',
    model.audio ? 'yes' : 'no',
    imagesOf(model),
    priceOf(model.price),
  ]),
)}

Prices follow the vendor's public list${vendor.models.some(({ price }) => price.settle_by === 'vendor') ? ', and a unit is what the vendor itself counts' : ''}:

${table(['Models', 'List', 'Compared on', 'Note'], sourcesOf(vendor))}

${
  keys.length === 0
    ? 'It has no `metadata`; its own fields stand beside the common ones.'
    : table(['Key of `metadata`', 'Type'], keys)
}

\`\`\`sh
curl "$REELGATE/v1/video/generations" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${example}'
\`\`\`
`;
}

/** The shortest and the longest video of a vendor. */
function secondsRange(models: readonly ModelCapability[]): string {
  const all = models.flatMap(({ seconds }) => ('values' in seconds ? seconds.values : [seconds.min, seconds.max]));
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return min === max ? String(min) : `${min} to ${max}`;
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

function imagesOf({ images: { min, max, roles } }: ModelCapability): string {
  if (max === 0) return 'none';
  return `${min === max ? min : `${min} to ${max}`}: ${roles.map((role) => ROLES[role]).join(', ')}`;
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 6 });

function ratesOf(rates: MediaLine): string {
  const named = [
    ['a call', rates.per_call],
    ['a second', rates.per_second],
    ['a picture', rates.per_input_image],
    ['a unit', rates.per_unit],
  ] as const;
  return named.flatMap(([unit, quota = 0]) => (quota > 0 ? [`${number(quota)} ${unit}`] : [])).join(' + ');
}

/** One line of a price: the facts it is for, its rates, and the units that are reserved for. */
function lineOf(line: MediaLine): string {
  const facts = Object.entries(line.when ?? {}).map(([fact, values]) => `${fact} ${values.join('/')}`);
  const units = [
    ...(line.max_units === undefined ? [] : [number(line.max_units)]),
    ...(line.max_units_per_second === undefined ? [] : [`${number(line.max_units_per_second)} a second`]),
  ].join(' + ');
  const rates = units === '' ? ratesOf(line) : `${ratesOf(line)}, at most ${units}`;
  return facts.length === 0 ? rates : `${facts.join(', ')}: ${rates}`;
}

function priceOf(price: VideoPrice): string {
  if (price.lines !== undefined) return price.lines.map(lineOf).join('; ');
  const factors = Object.entries(price.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => `${factor} ${value} × ${by}`),
  );
  return [ratesOf(price), ...factors].join('; ');
}

/** The lists that the prices of a vendor follow, with what each was compared with. */
function sourcesOf({ models }: VendorAdapter): readonly (readonly string[])[] {
  const lists = new Map<string, { readonly row: readonly string[]; readonly ids: string[] }>();
  for (const { id, listed } of models) {
    const row = [`<${listed.source}>`, listed.confirmedOn ?? 'unconfirmed', listed.note];
    const found = lists.get(row.join('\n')) ?? { row, ids: [] };
    found.ids.push(`\`${id}\``);
    lists.set(row.join('\n'), found);
  }
  return [...lists.values()].map(({ row, ids }) => [ids.join(', '), ...row]);
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
