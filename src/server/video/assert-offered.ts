import {
  describeWays,
  fits,
  type GenerationWay,
  type InputKind,
  isRatioOffered,
} from '../../contract/generation-ways.ts';
import { invalidRequest } from '../platform/app-error.ts';
import type { ModelCapability, RequestInput, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import { ratioField } from './model-parameters.ts';
import { kindsOfImages, sizeOf, typedKinds } from './typed-inputs.ts';

/** Media in `metadata` or in arguments of a media schema, which the ways do not describe. */
const hasOtherMedia = ({ metadata, extraFields }: VideoRequest): boolean =>
  extraFields.length > 0 || /"(?:https?|oss|data|asset|mm_file):|[A-Za-z0-9+/]{64}/.test(JSON.stringify(metadata));

const isOfferedLength = ({ seconds }: Pick<ModelCapability, 'seconds'>, asked: number): boolean =>
  'values' in seconds ? seconds.values.includes(asked) : asked >= seconds.min && asked <= seconds.max;

const describeLengths = ({ seconds }: Pick<ModelCapability, 'seconds'>): string =>
  'values' in seconds ? seconds.values.join(', ') : `${seconds.min} to ${seconds.max}`;

const isIn = (names: readonly string[], asked: string): boolean =>
  names.some((name) => name.toLowerCase() === asked.toLowerCase());

const kindsOf = ({ images, videos = [], audios = [] }: VideoRequest): readonly InputKind[] => [
  ...kindsOfImages(images),
  ...typedKinds('video', videos),
  ...typedKinds('audio', audios),
];

/**
 * Refuses inputs, a length or a resolution that the model does not offer together; vendors would refuse them once the
 * price is reserved.
 * @throws AppError `invalid_request`
 * @throws UnsupportedRequestError as the adapter does
 */
export function assertOffered(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'billingFactors' | 'formFields' | 'passthrough'>,
  capability: ModelCapability | undefined,
): void {
  // Upstreams of a passed-through format may offer more than the vendor did.
  if (capability === undefined || adapter.passthrough === true || request.officialBody) return;
  const { seconds: billed, factors } = adapter.billingFactors(request);
  assertFiles(request, capability);
  if (hasOtherMedia(request)) return;
  const { operation = 'generate', model } = request;
  const all = capability.ways.filter((way) => way.operation === operation);
  const fitting = all.filter((way) => fits(way, kindsOf(request)));
  if (all.length === 0) return;
  if (fitting.length === 0)
    throw invalidRequest(`The inputs cannot be used together: ${model} takes: ${describeWays(all)}.`, 'inputs');
  const resolved = withResolution(fitting, factors.resolution, request, { capability, adapter });
  const ways = withRatio(resolved, request, { capability, adapter });
  const { seconds = isOfferedLength(capability, billed) ? billed : undefined } = request;
  if (seconds !== undefined) assertLength(ways, seconds, request, capability);
}

/** The ways that offer the resolution. */
function withResolution(
  ways: readonly GenerationWay[],
  resolution: string | undefined,
  { size, model }: VideoRequest,
  {
    capability,
    adapter,
  }: { readonly capability: ModelCapability; readonly adapter: Pick<VendorAdapter, 'formFields'> },
): readonly GenerationWay[] {
  if (resolution === undefined || capability.resolutions.length === 0) return ways;
  // No resolution can be chosen where the inputs determine it.
  const found = ways.filter(
    ({ resolutions = capability.resolutions }) => resolutions.length === 0 || isIn(resolutions, resolution),
  );
  if (found.length > 0) return found;
  const param = size === undefined ? (adapter.formFields.resolution ?? 'size') : 'size';
  const offered = [...new Set(ways.flatMap((way) => way.resolutions ?? capability.resolutions))];
  throw invalidRequest(`${param} must be one of ${offered.join(', ')} for ${model} with these inputs.`, param);
}

/**
 * The ways that offer the ratio. A size in pixels beside inputs that determine the ratio only names the resolution, and
 * words such as `adaptive` are left to the vendor.
 */
function withRatio(
  ways: readonly GenerationWay[],
  { size = '', model, metadata }: VideoRequest,
  {
    capability,
    adapter,
  }: { readonly capability: ModelCapability; readonly adapter: Pick<VendorAdapter, 'formFields'> },
): readonly GenerationWay[] {
  const field = ratioField(adapter.formFields);
  const named = field === undefined ? undefined : metadata[field];
  const asked = typeof named === 'string' && /^\d+:\d+$/.test(named.trim()) ? named.trim() : undefined;
  const found = ways.filter((way) =>
    asked === undefined ? isRatioOffered(way, size) : (way.ratios ?? capability.ratios).includes(asked),
  );
  if (found.length > 0) return found;
  const param = asked === undefined ? 'size' : `metadata.${field}`;
  const offered = [...new Set(ways.flatMap((way) => way.ratios ?? capability.ratios))];
  if (offered.length === 0) throw invalidRequest(`${param} cannot be given for ${model} with these inputs.`, param);
  throw invalidRequest(`${param} must be one of ${offered.join(', ')} for ${model} with these inputs.`, param);
}

function assertLength(
  ways: readonly GenerationWay[],
  seconds: number,
  { seconds: asked, model, operation = 'generate', lengthField = 'duration' }: VideoRequest,
  capability: ModelCapability,
): void {
  const isOffered = ways.some((way) =>
    way.seconds === undefined ? isOfferedLength(capability, seconds) : way.seconds.includes(seconds),
  );
  const lengths = [...new Set(ways.flatMap((way) => way.seconds ?? []))].toSorted((one, other) => one - other);
  // The length of an edited video is that of its source.
  if (isOffered || (asked === undefined && lengths.length === 0)) return;
  if (lengths.length === 0 && operation === 'generate')
    throw invalidRequest(`${lengthField} must be ${describeLengths(capability)} seconds for ${model}.`, lengthField);
  if (lengths.length === 0)
    throw invalidRequest(`${lengthField} cannot be given for ${model} with these inputs.`, lengthField);
  throw invalidRequest(
    `${lengthField} must be ${lengths.join(', ')} seconds for ${model} with these inputs and this resolution.`,
    lengthField,
  );
}

/**
 * Refuses files of a format or a size that the model does not take.
 * @throws AppError `invalid_request`
 */
export function assertFiles({ images, videos = [], audios = [] }: VideoRequest, { ways }: ModelCapability): void {
  const all = ways.flatMap(({ inputs }) => inputs);
  const check = (type: InputKind['type'], inputs: readonly RequestInput[]): void => {
    const rules = all.filter((rule) => rule.type === type);
    if (rules.length === 0) return;
    const formats = new Set(rules.flatMap((rule) => rule.formats ?? []));
    const maxBytes = Math.max(...rules.map((rule) => rule.maxBytes));
    for (const input of inputs) {
      const mediaType = 'bytes' in input ? input.mediaType : input.upload?.mediaType;
      if (formats.size > 0 && mediaType !== undefined && !formats.has(mediaType)) {
        const names = [...formats].map((format) => format.replace(/^.*\//, ''));
        throw invalidRequest(`${type} cannot be used: the model takes ${names.join(', ')}.`, type);
      }
      if (sizeOf(input) > maxBytes)
        throw invalidRequest(`${type} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`, type);
    }
  };
  check('image', images);
  check('video', videos);
  check('audio', audios);
}
