import { defined } from './objects.ts';

/** Media a video can be made from. */
export const INPUT_TYPES = ['image', 'video', 'audio'] as const;
/** Kind of media. */
export type InputType = (typeof INPUT_TYPES)[number];

/**
 * Uses of an input. `source` is the video to edit or extend; `reference` of an audio is the vendor's reference audio,
 * `voice` drives speech or lip-sync.
 */
export const INPUT_ROLES = ['first_frame', 'last_frame', 'keyframe', 'reference', 'source', 'voice', 'mask'] as const;
/** Use of an input. */
export type InputRole = (typeof INPUT_ROLES)[number];

/** Operations of a video request. */
export const VIDEO_OPERATIONS = ['generate', 'edit', 'extend'] as const;
/** One of them. */
export type VideoOperation = (typeof VIDEO_OPERATIONS)[number];

/** One input of a video. */
export interface VideoInput {
  /** May be omitted where the file shows it: everything but a URL or a file id. */
  readonly type?: InputType;
  /** Default: `first_frame` of a single image, `source` of a video to edit or extend, otherwise `reference`. */
  readonly role?: InputRole;
  /** An http(s) URL. */
  readonly url?: string;
  /** Id of an uploaded file. */
  readonly file_id?: string;
  /** Base64 or a data URL. */
  readonly data?: string;
  /** Seconds from the start, of a keyframe. */
  readonly at?: number;
  /** The name by which the prompt refers to this input, as `@name`. */
  readonly name?: string;
}

const MB = 1_000_000;

/** Number and size of the inputs of one type and role. */
export interface InputRule {
  readonly type: InputType;
  readonly role: InputRole;
  readonly min: number;
  readonly max: number;
  /** Limits of one file. */
  readonly maxBytes: number;
  readonly maxSeconds?: number;
  /** Media types it takes; default: every one of its type. */
  readonly formats?: readonly string[];
}

/**
 * One way of using a model: the operation, the inputs that go together, and what the model then offers where that is
 * less than it offers otherwise. A request must fit one of them.
 */
export interface GenerationWay {
  readonly operation: VideoOperation;
  readonly inputs: readonly InputRule[];
  /** Maximum of all inputs together, where less than the sum. */
  readonly maxInputs?: number;
  readonly seconds?: readonly number[];
  readonly resolutions?: readonly string[];
  /** Further values of `size`. */
  readonly sizes?: readonly string[];
  /** Empty: the inputs determine the ratio. */
  readonly ratios?: readonly string[];
}

type Limits = Partial<Pick<InputRule, 'min' | 'maxBytes' | 'maxSeconds' | 'formats'>>;

const DEFAULT_BYTES: Readonly<Record<InputType, number>> = { image: 20 * MB, video: 100 * MB, audio: 15 * MB };

/** Up to `max` inputs of a type and role. */
export const upTo = (max: number, type: InputType, role: InputRole, limits: Limits = {}): InputRule => ({
  type,
  role,
  min: 0,
  max,
  maxBytes: DEFAULT_BYTES[type],
  ...limits,
});

/** Exactly one input of a type and role. */
export const one = (type: InputType, role: InputRole, limits: Limits = {}): InputRule =>
  upTo(1, type, role, { min: 1, ...limits });

/** At least one input of a type and role, at most `max`. */
export const some = (max: number, type: InputType, role: InputRole, limits: Limits = {}): InputRule =>
  upTo(max, type, role, { min: 1, ...limits });

type Offer = Omit<GenerationWay, 'operation' | 'inputs'>;

export const generate = (inputs: readonly InputRule[], offer: Offer = {}): GenerationWay => ({
  operation: 'generate',
  inputs,
  ...offer,
});
export const edit = (inputs: readonly InputRule[], offer: Offer = {}): GenerationWay => ({
  operation: 'edit',
  inputs,
  ...offer,
});
export const extend = (inputs: readonly InputRule[], offer: Offer = {}): GenerationWay => ({
  operation: 'extend',
  inputs,
  ...offer,
});

/** Every whole number of seconds from the first to the last. */
export const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** The usual ways: from text, from a first frame, from a first and a last frame. */
export const FROM_TEXT = generate([]);
export const fromFirstFrame = (limits: Limits = {}, offer: Offer = {}): GenerationWay =>
  generate([one('image', 'first_frame', limits)], offer);
export const fromBothFrames = (limits: Limits = {}, offer: Offer = {}): GenerationWay =>
  generate([one('image', 'first_frame', limits), one('image', 'last_frame', limits)], offer);

const generating = (ways: readonly GenerationWay[]): readonly GenerationWay[] =>
  ways.filter(({ operation }) => operation === 'generate');

const imageRules = ({ inputs }: GenerationWay): readonly InputRule[] => inputs.filter(({ type }) => type === 'image');
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Number of images in the older fields, and their meaning. */
export interface ImageLimits {
  readonly min: number;
  readonly max: number;
  readonly roles: readonly ('first_frame' | 'last_frame' | 'reference')[];
}

/** Operations that at least one way offers. */
export const operationsOf = (ways: readonly GenerationWay[]): VideoOperation[] => [
  ...new Set(ways.map(({ operation }) => operation)),
];

/** The ways, with number and roles of the images derived from them. Without ways a model has only its native format. */
export function waysOf(ways: readonly GenerationWay[]): {
  readonly ways: readonly GenerationWay[];
  readonly images: ImageLimits;
} {
  const rules = generating(ways).map(imageRules);
  const roles = rules.flat().map(({ role }) => role);
  return {
    ways,
    images: {
      min: rules.length === 0 ? 0 : Math.min(...rules.map((each) => sum(each.map(({ min }) => min)))),
      max: Math.max(
        0,
        ...generating(ways).map((way) =>
          Math.min(sum(imageRules(way).map(({ max }) => max)), way.maxInputs ?? Number.POSITIVE_INFINITY),
        ),
      ),
      roles: (['first_frame', 'last_frame', 'reference'] as const).filter((role) => roles.includes(role)),
    },
  };
}

/** Type, role and, once known, size of an input. */
export interface InputKind {
  readonly type: InputType;
  readonly role: InputRole;
}

const isSameKind = (one: InputKind, other: InputKind): boolean => one.type === other.type && one.role === other.role;

/** Whether inputs go together in a way. */
export function fits(way: GenerationWay, inputs: readonly InputKind[]): boolean {
  if (inputs.length > (way.maxInputs ?? Number.POSITIVE_INFINITY)) return false;
  if (inputs.some((input) => !way.inputs.some((rule) => isSameKind(rule, input)))) return false;
  return way.inputs.every((rule) => {
    const count = inputs.filter((input) => isSameKind(rule, input)).length;
    return count >= rule.min && count <= rule.max;
  });
}

/** The rule of each type and role over all ways of the operations: the widest limits. */
export function inputRules(ways: readonly GenerationWay[]): readonly InputRule[] {
  const found: InputRule[] = [];
  for (const rule of ways.flatMap(({ inputs }) => inputs)) {
    const at = found.findIndex((known) => isSameKind(known, rule));
    const known = found[at];
    if (known === undefined) found.push(rule);
    else found[at] = { ...known, max: Math.max(known.max, rule.max) };
  }
  return found.map((rule) => ({
    ...rule,
    min: Math.min(...ways.map(({ inputs }) => inputs.find((each) => isSameKind(each, rule))?.min ?? 0)),
  }));
}

/** Ways of the operation, described for an error message: `image: first_frame + last_frame; image: reference (1-9)`. */
export function describeWays(ways: readonly GenerationWay[]): string {
  const count = ({ min, max }: InputRule): string =>
    min === max ? (max === 1 ? '' : ` (${max})`) : ` (${min}-${max})`;
  const texts = ways.map(({ inputs }) =>
    inputs.length === 0 ? 'no inputs' : inputs.map((rule) => `${rule.type} ${rule.role}${count(rule)}`).join(' + '),
  );
  return [...new Set(texts)].join('; ');
}

/** Images by what they are for. */
export interface SortedImages<T> {
  readonly first?: T;
  readonly last?: T;
  readonly references: readonly T[];
}

/** Sorts images by role. Without roles one is the first frame, two are first and last, and more are references. */
export function sortImages<T extends { readonly role?: InputRole }>(images: readonly T[]): SortedImages<T> {
  const isPlain = images.every(({ role }) => role === undefined);
  if (isPlain && images.length > 2) return { references: images };
  const [plainFirst, plainLast] = images;
  const of = (wanted: InputRole): T | undefined => images.find(({ role }) => role === wanted);
  return {
    ...defined({ first: isPlain ? plainFirst : of('first_frame'), last: isPlain ? plainLast : of('last_frame') }),
    references: images.filter(({ role }) => role === 'reference'),
  };
}

/** Frames are rounded to whole macroblocks: OpenAI's own 1792x1024 is 1.6 % off 16:9. */
const RATIO_TOLERANCE = 0.02;

/** `16:9` from `1280x720` or `1280*720`, if it is one of `ratios` (within 2 %); undefined otherwise. */
export function matchAspectRatio(size: string, ratios: readonly string[]): string | undefined {
  const match = /^(\d{1,5})\s*[x*×]\s*(\d{1,5})$/i.exec(size);
  const asked = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return ratios.find((ratio) => {
    const [width = 0, height = 1] = ratio.split(':').map(Number);
    return Math.abs(asked / (width / height) - 1) < RATIO_TOLERANCE;
  });
}

/** Whether a size in pixels has one of the way's own ratios; every other size has. */
export const isRatioOffered = ({ ratios = [] }: GenerationWay, size: string): boolean =>
  ratios.length === 0 || !FRAME.test(size) || matchAspectRatio(size, ratios) !== undefined;
const FRAME = /^\d{2,5}\s*[x*×]\s*\d{2,5}$/i;
