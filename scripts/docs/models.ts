import { fits, type InputRole, type InputType, operationsOf } from '../../src/contract/generation-ways.ts';
import type { MediaLine, VideoPrice } from '../../src/contract/pricing.ts';
import type { ModelCapability, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';

/** docs/models.md: the fields of all vendors, then each vendor's models, prices, `metadata` keys and an example. */
export function renderModels(): string {
  return `# Video models

For callers: each vendor's models with options and initial prices, and a call to copy. \`GET /v1/videos/models\` shows those of a service.

**Fields.** Common: \`model\`, \`prompt\`, \`image\`, \`images\`, \`duration\` (or \`seconds\`), \`size\`, \`mode\`; a value the model does not support gets HTTP 400.
Vendor-specific keys listed below, strings unless noted, go into \`metadata\`. Others, those for which a model or a channel has no place, and a \`size\`
without effect beside the inputs are dropped and named in the header \`x-reelgate-dropped\`. Images are also read from unambiguous fields of other APIs
(\`image_url\`, \`first_frame_image\`, \`last_frame\`, \`reference_images\` and the like) as a string, an object with \`url\` or \`image_url\`, or a list; media
in any other field is refused by name. Numbers may be strings and strings numbers; empty and null fields count as absent.

**Tables.** The default duration is the first of a list, or in parentheses. "Takes" has resolutions, modes, and "ratio" or "size" for those of
the vendor; "Inputs" has what a video can be made from ([inputs.md](inputs.md)). Prices are in quota by call, second (s) or unit that the vendor
counts; 500,000 quota are one unit of the display currency, a dollar or seven yuan. A range depends on the options ([prices.md](prices.md));
"unconfirmed" prices have no current list behind them. Sources: \`src/server/vendors/NAME/models.ts\`. \`REELGATE\` is the base URL, \`KEY\` a key.

${VENDOR_ADAPTERS.map(renderVendor).join('\n\n')}

Not listed, because no page of the vendor states their limits and price: \`wan2.2-t2v-flash\`, \`wan2.6-t2v-us\`, \`wan2.6-i2v-us\`; because only
resellers name their ids: Kling 4.0, Vidu Q4, Wan 3.0 Prime Pro, Grok Imagine 1.5 Lite. Added by name, only the vendor checks lengths and sizes.
`;
}

function renderVendor(vendor: VendorAdapter): string {
  const { title, models } = vendor;
  const example = JSON.stringify(vendor.example, null, 1).replace(/\n */g, ' ').replaceAll("'", "'\\''");
  return `## ${title}

${table(['', ''], [...listsOf(models), ['`metadata`', keysOfMetadata(vendor)], ['Prices', sourcesOf(models)]])}

${table(['Models', 'Seconds', 'Takes', 'Inputs', 'Price'], rowsOf(models))}

\`\`\`sh
curl "$REELGATE/v1/video/generations" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${example}'
\`\`\``;
}

/** One row for models that differ only in name. */
function rowsOf(models: readonly ModelCapability[]): string[][] {
  const listed = areSizesListedInRows(models);
  const rows = Map.groupBy(models, (model) =>
    JSON.stringify([
      secondsOf(model),
      takenBy(model, listed),
      inputsOf(model),
      `${priceOf(model.price)}${model.listed.confirmedOn === null ? ', unconfirmed' : ''}`,
    ]),
  );
  return [...rows].map(([row, same]) => [
    same.map(({ id }) => `\`${id}\``).join(', '),
    ...(JSON.parse(row) as string[]),
  ]);
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function secondsOf({ seconds }: ModelCapability): string {
  if (!('values' in seconds)) return `${seconds.min}–${seconds.max} (${seconds.default})`;
  const { values } = seconds;
  const isRange = values.length > 3 && values.every((value, index) => value === (values[0] ?? 0) + index);
  const list = isRange ? `${values[0]}–${values.at(-1)}` : values.join(', ');
  return !isRange && values[0] === seconds.default ? list : `${list} (${seconds.default})`;
}

/** True if the sizes follow neither from the vendor nor from the model's resolutions. */
const areSizesListedInRows = (models: readonly ModelCapability[]): boolean =>
  new Set(models.filter(({ resolutions }) => resolutions.length === 0).map(({ sizes }) => sizes.join())).size > 1;

/** Some vendors accept a resolution as size, which the table does not repeat. */
const ownSizesOf = ({ sizes, resolutions }: ModelCapability): readonly string[] =>
  sizes.join() === resolutions.join() ? [] : sizes;

/** Ratios and sizes that all models of a vendor share. */
function listsOf(models: readonly ModelCapability[]): string[][] {
  const lists = [
    ['Ratios', models.flatMap(({ ratios }) => ratios)],
    ['Sizes', areSizesListedInRows(models) ? [] : models.flatMap(ownSizesOf)],
  ] as const;
  return lists.flatMap(([name, all]) => (all.length === 0 ? [] : [[name, [...new Set(all)].join(', ')]]));
}

function takenBy(model: ModelCapability, areSizesListed: boolean): string {
  const { resolutions, ratios, modes, audio } = model;
  const sizes = ownSizesOf(model);
  const framing = [ratios.length > 0 ? 'ratio' : '', sizes.length > 0 && !areSizesListed ? 'size' : ''];
  const parts = [
    resolutions.join(', '),
    areSizesListed ? sizes.join(', ') : '',
    modes.length === 0 ? '' : `mode ${modes.join(', ')}`,
    ...framing,
    audio ? 'sound' : '',
  ];
  return parts.filter((part) => part !== '').join('; ') || '–';
}

const INPUTS: readonly (readonly [type: InputType, role: InputRole, name: string])[] = [
  ['image', 'first_frame', 'first frame'],
  ['image', 'last_frame', 'last frame'],
  ['image', 'keyframe', 'keyframes'],
  ['image', 'reference', 'images'],
  ['video', 'reference', 'videos'],
  ['audio', 'reference', 'audios'],
  ['audio', 'voice', 'voice'],
];

/** Every role with its largest number, and the operations; `parameters.anyOf` of the API lists the combinations. */
function inputsOf({ ways }: ModelCapability): string {
  const generating = ways.filter(({ operation }) => operation === 'generate');
  const rules = generating.flatMap(({ inputs }) => inputs);
  const kinds = INPUTS.flatMap(([type, role, name]) => {
    const counts = rules.filter((rule) => rule.type === type && rule.role === role).map(({ max }) => max);
    const most = Math.max(...counts);
    return counts.length === 0 ? [] : [most === 1 ? name.replace(/s$/, '') : `${most} ${name}`];
  });
  const isFromText = generating.some((way) => fits(way, []));
  const changes = operationsOf(ways).filter((operation) => operation !== 'generate');
  return [...(isFromText ? ['text'] : []), ...kinds, ...changes].join(', ') || 'native format only';
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 6 });

/** Lowest to highest rate of each kind; the console and `GET /v1/models` show the exact lines. */
function priceOf({ lines, ...price }: VideoPrice): string {
  const all: readonly MediaLine[] = lines ?? [price];
  const kinds = [
    ['call', all.map((line) => line.per_call ?? 0)],
    ['s', all.map((line) => line.per_second ?? 0)],
    ['image', all.map((line) => line.per_input_image ?? 0)],
    ['input s', all.map((line) => line.per_input_second ?? 0)],
    ['unit', all.map((line) => line.per_unit ?? 0)],
  ] as const;
  const factors = Object.keys(price.multipliers ?? {});
  const rates = kinds.flatMap(([unit, values]) => {
    const charged = values.filter((value) => value > 0);
    if (charged.length === 0) return [];
    const [min, max] = [Math.min(...charged), Math.max(...charged)];
    return [`${min === max ? number(min) : `${number(min)}–${number(max)}`}/${unit}`];
  });
  return `${rates.join(' + ')}${factors.length === 0 ? '' : ` by ${factors.join(', ')}`}`;
}

/** The vendor's price lists, each with the dates its prices were compared on. */
function sourcesOf(models: readonly ModelCapability[]): string {
  const lists = Map.groupBy(models, ({ listed }) => listed.source);
  const texts = [...lists].map(([source, listed]) => {
    const dates = listed.flatMap(({ listed: { confirmedOn } }) => (confirmedOn === null ? [] : [confirmedOn])).sort();
    const [first = '', last = ''] = [dates[0], dates.at(-1)];
    return `<${source}>${first === '' ? '' : ` (${first === last ? first : `${first} to ${last}`})`}`;
  });
  return `compared with ${texts.join(', ')}`;
}

/** Keys of `metadata`; those of one parent and type are written as `parent.{a,b}`. */
function keysOfMetadata(vendor: VendorAdapter): string {
  const keys = keysOf(vendor.metadata as Schema);
  if (keys.length === 0) return 'none: its own fields are sent beside the common ones';
  const groups = Map.groupBy(keys, ([path = '', type = '']) => `${path.slice(0, path.lastIndexOf('.') + 1)} ${type}`);
  const texts = [...groups.values()].map((group) => {
    const [first = '', type = ''] = group[0] ?? [];
    const parent = first.slice(0, first.lastIndexOf('.') + 1);
    const names = group.map(([path = '']) => path.slice(parent.length));
    const isBraced = parent !== '' && names.length > 1;
    const list = isBraced ? `\`${parent}{${names.join(',')}}\`` : group.map(([path]) => `\`${path}\``).join(', ');
    return type === 'string' ? list : `${list} (${type})`;
  });
  return texts.join('; ');
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
    return [...flat.map((option) => [path, typeOf(option)]), ...deep.flatMap((option) => keysOf(option, path))];
  }
  return [[path, typeOf(schema)]];
}

function typeOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  return schema.items ? `list of ${typeOf(schema.items)}` : (schema.type ?? 'anything');
}
