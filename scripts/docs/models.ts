import type { MediaLine, VideoPrice } from '../../src/contract/pricing.ts';
import type { ModelCapability, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';

/** docs/models.md: rules common to all vendors, and links to the vendors' pages. */
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

Each vendor's page lists its models with their options, initial prices and an example call:

${table(['Vendor', 'Models', 'Seconds', 'With sound'], vendors)}

Models are rows that administrators can change; the pages show initial values, with prices in quota (500,000 quota are one unit of the display
currency, yuan converted at 7). A model that is not listed can be added by its name. Prices are fixed on submission ([prices.md](prices.md)); a
price marked "unconfirmed" has no current list behind it.

Common fields are \`model\`, \`prompt\`, \`image\`, \`images\`, \`duration\` (or \`seconds\`), \`size\` and \`mode\`. Vendor-specific parameters
go into \`metadata\` under the keys its page lists; other keys are dropped and named in the response header \`x-reelgate-dropped\`. A common
field that a model does not support is rejected with HTTP 400.

Images are also read from unambiguous fields of other APIs (\`image_url\`, \`first_frame_image\`, \`last_frame\`, \`reference_images\` and the like)
as a string, an object with \`url\` or \`image_url\`, or a list; media in any other field is rejected by name. Numbers may be strings and strings
numbers; empty and null fields count as absent.

Not listed, because no page of the vendor states their limits and price: \`wan2.2-t2v-flash\`, \`wan2.6-t2v-us\` and \`wan2.6-i2v-us\`.

In the calls, \`REELGATE\` is the service's base URL (\`http://127.0.0.1:3000\`) and \`KEY\` an API key.
`;
}

/** The page of one vendor, docs/models/NAME.md. */
export function renderVendorPage(vendor: VendorAdapter): string {
  const keys = keysOf(vendor.metadata as Schema);
  const example = JSON.stringify(vendor.example, null, 2).replaceAll("'", "'\\''");
  return `# ${vendor.title}

What the columns and fields mean: [models.md](../models.md).

${table(['Model', 'Seconds', 'Frame', 'Modes', 'Sound', 'Images', 'Initial price'], rowsOf(vendor.models))}

Prices follow the vendor's public list${vendor.models.some(({ price }) => price.settle_by === 'vendor') ? ', and a unit is what the vendor itself counts' : ''}:

${table(['Models', 'List', 'Compared on', 'Note'], sourcesOf(vendor))}

${
  keys.length === 0
    ? 'It has no `metadata`; its own fields stand beside the common ones.'
    : `Keys of \`metadata\`: ${keys.map(([key, type]) => `${key} (${type})`).join(', ')}.`
}

\`\`\`sh
curl "$REELGATE/v1/video/generations" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${example}'
\`\`\`
`;
}

/** One row for models that differ only in name. */
function rowsOf(models: readonly ModelCapability[]): string[][] {
  const rows = Map.groupBy(models, (model) =>
    JSON.stringify([
      secondsOf(model),
      frameOf(model),
      model.modes.join(', ') || '–',
      model.audio ? 'yes' : 'no',
      imagesOf(model),
      priceOf(model.price),
    ]),
  );
  return [...rows].map(([row, same]) => [
    same.map(({ id }) => `\`${id}\``).join(', '),
    ...(JSON.parse(row) as string[]),
  ]);
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
  [...new Set([resolutions, ratios, sizes].map((list) => list.join(', ')))].filter((list) => list !== '').join('; ') ||
  '–';

const ROLES = { first_frame: 'first frame', last_frame: 'last frame', reference: 'references' } as const;

function imagesOf({ images: { min, max, roles } }: ModelCapability): string {
  if (max === 0) return 'none';
  return `${min === max ? min : `${min} to ${max}`}: ${roles.map((role) => ROLES[role]).join(', ')}`;
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 6 });

/** Lowest to highest rate of each kind; the console and `GET /v1/models` show the exact lines. */
function priceOf({ lines, ...price }: VideoPrice): string {
  const all: readonly MediaLine[] = lines ?? [price];
  const kinds = [
    ['a call', all.map((line) => line.per_call ?? 0)],
    ['a second', all.map((line) => line.per_second ?? 0)],
    ['an image', all.map((line) => line.per_input_image ?? 0)],
    ['a unit', all.map((line) => line.per_unit ?? 0)],
  ] as const;
  const factors = Object.keys(price.multipliers ?? {});
  const rates = kinds.flatMap(([unit, values]) => {
    const charged = values.filter((value) => value > 0);
    if (charged.length === 0) return [];
    const [min, max] = [Math.min(...charged), Math.max(...charged)];
    return [`${min === max ? number(min) : `${number(min)} to ${number(max)}`} ${unit}`];
  });
  return `${rates.join(' + ')}${factors.length === 0 ? '' : `, by ${factors.join(', ')}`}`;
}

/** Price lists a vendor's prices are taken from, each with the source it was compared with. */
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

/** Dotted names and types of a schema's leaves. */
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
