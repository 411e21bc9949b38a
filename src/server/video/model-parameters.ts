import type { TSchema } from 'typebox';
import { type GenerationWay, type InputRule, isRatioOffered, operationsOf } from '../../contract/generation-ways.ts';
import { defined } from '../../contract/objects.ts';
import type { ModelCapability, VendorAdapter } from '../vendors/adapter.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A model as far as its table goes; one that is not listed has its ways only. */
type Described = Pick<ModelCapability, 'ways'> & Partial<ModelCapability>;

/**
 * JSON Schema of a request for one model. Its `anyOf` lists the ways of using the model: what may be combined with
 * which inputs. A body without `inputs` and `operation` that has images in the older fields is not described.
 */
export function toParameters(
  id: string,
  capability: Described,
  adapter: Pick<VendorAdapter, 'metadata' | 'formFields'>,
  inputSchema: TSchema | undefined,
): Schema {
  const { ways, modes = [], sizes = [], resolutions = [] } = capability;
  const lengths = isListed(capability)
    ? secondsSchema([...new Set(ways.flatMap((way) => secondsOf(way, capability)))])
    : undefined;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['model'],
    properties: defined({
      model: { const: id },
      prompt: { type: 'string' },
      metadata: adapter.metadata,
      ...((inputSchema as { readonly properties?: object } | undefined)?.properties ?? {}),
      seconds: lengths,
      duration: lengths,
      size:
        sizes.length + resolutions.length === 0 ? undefined : { type: 'string', examples: sizesOf(resolutions, sizes) },
      mode: modes.length === 0 ? undefined : { enum: modes },
      operation: { enum: operationsOf(ways) },
      inputs: { type: 'array', items: INPUT },
    }),
    anyOf: ways.map((way) => toWaySchema(way, capability, adapter)),
  };
}

const isListed = (capability: Described): capability is ModelCapability => capability.seconds !== undefined;

const INPUT: Schema = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { enum: ['image', 'video', 'audio'] },
    role: { type: 'string' },
    url: { type: 'string' },
    file_id: { type: 'string' },
    data: { type: 'string' },
    at: { type: 'number', minimum: 0 },
    name: { type: 'string' },
  },
};

/** Resolutions first: each is a value of `size`. */
const sizesOf = (resolutions: readonly string[], sizes: readonly string[]): readonly string[] => [
  ...new Set([...resolutions, ...sizes]),
];

/** Whole seconds, as a number or as OpenAI's clients write them. */
const secondsSchema = (values: readonly number[]): Schema => ({ enum: [...values, ...values.map(String)] });

/** Every length a model offers. */
export function allSeconds({ seconds }: Pick<ModelCapability, 'seconds'>): readonly number[] {
  if ('values' in seconds) return seconds.values;
  return Array.from({ length: seconds.max - seconds.min + 1 }, (_, index) => seconds.min + index);
}

/** Lengths of one way. */
export const secondsOf = (way: GenerationWay, capability: ModelCapability): readonly number[] =>
  way.seconds ?? allSeconds(capability);

function toWaySchema(way: GenerationWay, capability: Described, adapter: Pick<VendorAdapter, 'formFields'>): Schema {
  const lengths = isListed(capability) ? secondsOf(way, capability) : undefined;
  const length = lengths?.length === 0 ? false : lengths && secondsSchema(lengths);
  const needsInputs = way.inputs.some(({ min }) => min > 0);
  return defined({
    required: [...(way.operation === 'generate' ? [] : ['operation']), ...(needsInputs ? ['inputs'] : [])],
    properties: defined({
      operation: { const: way.operation },
      seconds: length,
      duration: length,
      size: isListed(capability) ? sizeSchema(way, capability) : undefined,
      metadata: isListed(capability) ? ratioSchema(way, capability, adapter) : undefined,
      inputs: inputsSchema(way),
    }),
  });
}

/**
 * Inputs that determine the ratio leave the resolutions; otherwise what other ways have and this one has not is
 * excluded.
 */
function sizeSchema(way: GenerationWay, { resolutions, sizes }: ModelCapability): Schema | false | undefined {
  const named = way.resolutions ?? resolutions;
  // Some vendors list their resolutions as sizes too.
  const exact = (way.sizes ?? sizes)
    .filter((each) => !resolutions.includes(each) || named.includes(each))
    .filter((each) => isRatioOffered(way, each));
  const offered = [...named, ...exact];
  if (way.ratios?.length === 0) return offered.length === 0 ? false : { enum: sizesOf(offered, []) };
  const missing = [...resolutions, ...sizes].filter((each) => !offered.includes(each));
  return missing.length === 0 ? undefined : { not: { enum: missing } };
}

/** The values of the vendor's own field for the ratio, which `metadata` holds. */
function ratioSchema(
  way: GenerationWay,
  { ratios }: ModelCapability,
  { formFields }: Pick<VendorAdapter, 'formFields'>,
): Schema | undefined {
  const field = ratioField(formFields);
  if (field === undefined) return undefined;
  const offered = way.ratios ?? ratios;
  return { properties: { [field]: offered.length === 0 ? false : { enum: offered } } };
}

/** The member of `metadata` that holds the ratio; undefined if the vendor has none. */
export const ratioField = ({ ratio }: VendorAdapter['formFields']): string | undefined =>
  ratio?.startsWith('metadata.') ? ratio.slice('metadata.'.length) : undefined;

const kindSchema = ({ type, role }: InputRule): Schema => ({
  required: ['type', 'role'],
  properties: { type: { const: type }, role: { const: role } },
});

function inputsSchema({ inputs, maxInputs }: GenerationWay): Schema {
  if (inputs.length === 0) return { maxItems: 0 };
  return defined({
    maxItems: maxInputs ?? inputs.reduce((sum, { max }) => sum + max, 0),
    items: { anyOf: inputs.map(kindSchema) },
    allOf: inputs.map((rule) => ({ contains: kindSchema(rule), minContains: rule.min, maxContains: rule.max })),
  });
}
