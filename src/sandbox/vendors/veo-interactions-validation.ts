import { asObject } from '../../contract/objects.ts';

/** The error Interactions returns for an invalid new interaction of an Omni model; undefined when it is valid. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);

const isText: Check = (value) => typeof value === 'string' && value !== '';

const BLOCKS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  text: { type: isText, text: isText },
  image: {
    type: isText,
    data: (value) => typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value),
    mime_type: isOneOf('image/png', 'image/jpeg', 'image/webp'),
  },
};
const FORMAT: Readonly<Record<string, Check>> = {
  type: isOneOf('video'),
  aspect_ratio: isOneOf('16:9', '9:16'),
  resolution: isOneOf('360p', '720p', '1080p', '4k'),
  duration: (value) => typeof value === 'string' && /^\d{1,2}s$/.test(value),
  delivery: isOneOf('inline', 'uri'),
};
const TASK = isOneOf('text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend');
const KEYS = new Set(['model', 'input', 'background', 'response_format', 'generation_config', 'store', 'labels']);

function checkFields(value: unknown, known: Readonly<Record<string, Check>>, where: string): string | undefined {
  const fields = asObject(value);
  if (!fields) return `Invalid value at '${where}'.`;
  for (const [key, inner] of Object.entries(fields)) {
    if (!Object.hasOwn(known, key)) return `Unknown name "${key}" at '${where}': Cannot find field.`;
    if (!known[key]?.(inner)) return `Invalid value at '${where}.${key}'.`;
  }
  return undefined;
}

const blocksOf = (input: unknown): readonly Fields[] =>
  (Array.isArray(input) ? input : []).map((block) => asObject(block) ?? {});

/** The text blocks of an input, or the input that is a text itself. */
export const textOf = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : blocksOf(input)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join(' ');

function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') return undefined;
  const blocks = blocksOf(input);
  if (blocks.length === 0) return 'An input is required.';
  if (blocks.filter(({ type }) => type === 'image').length > 6) return 'At most 6 images are supported.';
  for (const [index, block] of blocks.entries()) {
    const wrong = checkFields(block, BLOCKS[String(block.type)] ?? {}, `input[${index}]`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Ten where an interaction names no length. */
export const secondsOf = (duration: unknown): number =>
  typeof duration === 'string' ? Number(/^(\d{1,2})s$/.exec(duration)?.[1] ?? Number.NaN) : 10;

export function checkInteraction(model: string, body: Fields | undefined): string | undefined {
  if (!body) return 'Invalid JSON payload received.';
  const extra = Object.keys(body).find((key) => !KEYS.has(key));
  if (extra !== undefined) return `Unknown name "${extra}": Cannot find field.`;
  const format = asObject(body.response_format) ?? {};
  const seconds = secondsOf(format.duration);
  const most = model.startsWith('gemini-omni-1.1') ? 10 : 15;
  if (!(seconds >= 3 && seconds <= most)) return `The duration must be between 3s and ${most}s.`;
  const { video_config: config, ...others } = asObject(body.generation_config ?? {}) ?? {};
  const [other] = Object.keys(others);
  if (other !== undefined) return `\`generation_config.${other}\` is not supported by this model.`;
  return (
    checkInput(body.input) ??
    checkFields(format, FORMAT, 'response_format') ??
    (config === undefined ? undefined : checkFields(config, { task: TASK }, 'generation_config.video_config'))
  );
}
