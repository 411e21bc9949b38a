import { asObject } from '../../contract/objects.ts';

/** The error both of Google's Veo APIs return for an invalid submit, INVALID_ARGUMENT; undefined when it is valid. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
const isBetween =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

const BOTH: Readonly<Record<string, Check>> = {
  sampleCount: isBetween(1, 4),
  aspectRatio: isOneOf('16:9', '9:16'),
  durationSeconds: isBetween(4, 8),
  resolution: isOneOf('720p', '1080p', '4k'),
  negativePrompt: isText,
  personGeneration: isOneOf('allow_all', 'allow_adult', 'dont_allow'),
};
const PARAMETERS: Readonly<Record<VeoApi, Readonly<Record<string, Check>>>> = {
  gemini: { ...BOTH, enhancePrompt: isFlag },
  vertex: {
    ...BOTH,
    enhancePrompt: isFlag,
    storageUri: (value) => typeof value === 'string' && value.startsWith('gs://'),
    seed: isBetween(0, 4_294_967_295),
    generateAudio: isFlag,
    compressionQuality: isOneOf('optimized', 'lossless'),
    resizeMode: isOneOf('pad', 'crop'),
    fps: isBetween(24, 24),
    pubsubTopic: isText,
  },
};
export type VeoApi = 'gemini' | 'vertex';

/** `inlineData` is accepted by Google's chat methods only; this method refuses it. */
const isImage: Check = (value) => {
  const image = asObject(value);
  if (!image || Object.keys(image).some((key) => key !== 'bytesBase64Encoded' && key !== 'mimeType')) return false;
  const { bytesBase64Encoded: data, mimeType } = image;
  return (
    typeof data === 'string' &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(data) &&
    isOneOf('image/png', 'image/jpeg', 'image/webp')(mimeType)
  );
};
const isReference: Check = (value) => {
  const reference = asObject(value);
  return isImage(reference?.image) && isOneOf('asset', 'ASSET')(reference?.referenceType);
};
const INSTANCE: Readonly<Record<string, Check>> = {
  prompt: isText,
  image: isImage,
  lastFrame: isImage,
  referenceImages: (value) =>
    Array.isArray(value) && value.length >= 1 && value.length <= 3 && value.every(isReference),
};

function checkKeys(fields: Fields, known: Readonly<Record<string, Check>>, where: string): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const check = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!check) return `Unknown name "${key}" at '${where}': Cannot find field.`;
    if (!check(value)) return `\`${key}\` isn't supported by this model. Please remove it or change its value.`;
  }
  return undefined;
}

function checkModel(model: string, instance: Fields, parameters: Fields, api: VeoApi): string | undefined {
  const seconds = Number(parameters.durationSeconds ?? 8);
  const resolution = parameters.resolution ?? '720p';
  const isTwo = model.startsWith('veo-2');
  const isThreeOne = model.startsWith('veo-3.1');
  const isLite = model.includes('-lite-');
  if (isTwo ? seconds < 5 : seconds % 2 !== 0) return `durationSeconds ${seconds} is out of bound.`;
  if (isTwo && parameters.resolution !== undefined) return '`resolution` is not supported by this model.';
  if (resolution === '4k' && (!isThreeOne || isLite)) return '4k is not supported by this model.';
  if (instance.lastFrame !== undefined && (!isThreeOne || instance.image === undefined))
    return '`lastFrame` is not supported.';
  const hasReferences = instance.referenceImages !== undefined;
  if (hasReferences && (!isThreeOne || isLite)) return '`referenceImages` is not supported by this model.';
  const isLong = seconds === 8;
  if (!isLong && (hasReferences || (api === 'gemini' && resolution !== '720p')))
    return 'durationSeconds must be 8 here.';
  return undefined;
}

export function checkVeoBody(model: string, body: Fields | undefined, api: VeoApi): string | undefined {
  if (!body) return 'Invalid JSON payload received.';
  const extra = Object.keys(body).find((key) => key !== 'instances' && key !== 'parameters' && key !== 'labels');
  if (extra !== undefined) return `Unknown name "${extra}": Cannot find field.`;
  const instances = Array.isArray(body.instances) ? body.instances : [];
  const instance = asObject(instances[0]);
  if (!instance || instances.length !== 1) return 'Exactly one instance is required.';
  const parameters = asObject(body.parameters ?? {});
  if (!parameters) return "Invalid value at 'parameters'.";
  if (!instance.prompt && instance.image === undefined) return 'A prompt or an image is required.';
  return (
    checkKeys(instance, INSTANCE, 'instances[0]') ??
    checkKeys(parameters, PARAMETERS[api], 'parameters') ??
    checkModel(model, instance, parameters, api)
  );
}
