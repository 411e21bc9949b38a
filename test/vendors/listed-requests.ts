import type { Static } from 'typebox';
import type { InputRole, InputType, VideoOperation } from '../../src/contract/generation-ways.ts';
import type { VideoModel } from '../../src/contract/video.ts';

/** Requests made from `GET /v1/videos/models` alone: what a model lists, and what it does not. */

/** A model as the service lists it. */
export type ListedModel = Static<typeof VideoModel>;
/** The body of a request. */
export type Body = Readonly<Record<string, unknown>>;

/** Ids of uploaded files, one of each type: two seconds of video and of audio, and a PNG. */
export type Uploads = Readonly<Record<InputType, string>>;

interface Kind {
  readonly type: InputType;
  readonly role: InputRole;
  readonly min: number;
  readonly max: number;
}

/** One entry of `parameters.anyOf`. */
export interface ListedWay {
  readonly operation: VideoOperation;
  readonly kinds: readonly Kind[];
  readonly maxItems: number;
  /** Undefined: none can be given. */
  readonly seconds: readonly number[] | undefined;
  readonly sizes: readonly string[];
  /** Ratios to be given as frames in pixels, where the model lists no frames. */
  readonly ratios: readonly string[];
  /** Ratios to be given in the vendor's own field. */
  readonly fieldRatios: readonly string[];
}

interface WaySchema {
  readonly properties: {
    readonly operation: { readonly const: VideoOperation };
    readonly seconds?: false | { readonly enum: readonly unknown[] };
    readonly metadata?: { readonly properties: Readonly<Record<string, false | { readonly enum: readonly string[] }>> };
    readonly size?: false | { readonly not?: { readonly enum: readonly string[] }; readonly enum?: readonly string[] };
    readonly inputs: {
      readonly maxItems: number;
      readonly allOf?: readonly {
        readonly contains: { readonly properties: { type: { const: InputType }; role: { const: InputRole } } };
        readonly minContains: number;
        readonly maxContains: number;
      }[];
    };
  };
}

/** The ways of using a model. */
export function waysOf({ parameters, resolutions, sizes, ratios }: ListedModel): readonly ListedWay[] {
  const { anyOf = [] } = parameters as { readonly anyOf?: readonly WaySchema[] };
  return anyOf.map(({ properties: { operation, seconds, size, metadata, inputs } }): ListedWay => {
    const [fieldRatios = false] = Object.values(metadata?.properties ?? {});
    const { not, enum: only } = size === undefined || size === false ? {} : size;
    const named = only ?? [...new Set([...resolutions, ...sizes])].filter((each) => not?.enum.includes(each) !== true);
    return {
      operation: operation.const,
      kinds: (inputs.allOf ?? []).map(({ contains: { properties }, minContains, maxContains }) => ({
        type: properties.type.const,
        role: properties.role.const,
        min: minContains,
        max: maxContains,
      })),
      maxItems: inputs.maxItems,
      seconds: seconds ? seconds.enum.filter((each) => typeof each === 'number') : undefined,
      sizes: size === false ? [] : named,
      ratios: size === false || only !== undefined || sizes.some(isFrame) ? [] : ratios,
      fieldRatios: fieldRatios === false ? [] : fieldRatios.enum,
    };
  });
}

const isFrame = (size: string): boolean => /\d[x*]\d/.test(size);

/** A frame of the ratio, in pixels. */
export function toFrame(ratio: string): string {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  const short = 720 / Math.min(width, height);
  return `${Math.round(width * short)}x${Math.round(height * short)}`;
}

/** Inputs of a way: as few as it needs, or as many as it takes. */
export function inputsOf(way: ListedWay, uploads: Uploads, counts: 'min' | 'max' | (() => number)): readonly Body[] {
  let left = way.maxItems;
  // The required ones first, so that the maximum of all leaves room for each.
  const wanted = way.kinds.map(({ min, max }) => {
    const share = typeof counts === 'function' ? counts() : counts === 'min' ? 0 : 1;
    left -= min;
    return { min, more: Math.round((max - min) * share) };
  });
  return way.kinds.flatMap(({ type, role }, index) => {
    const { min = 0, more = 0 } = wanted[index] ?? {};
    const added = Math.min(more, Math.max(0, left));
    left -= added;
    return Array.from({ length: min + added }, (_, at) => ({
      type,
      role,
      file_id: uploads[type],
      ...(role === 'keyframe' ? { at: (at + 1) / 8 } : {}),
    }));
  });
}

/** A value at a dotted path. */
const at = (path: string, value: unknown): Body =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Body;

/**
 * The product of everything one way lists: operation and inputs, as few and as many as possible, length, resolution,
 * ratio and mode.
 *
 * @param ratioField path of the vendor's own field for the ratio, undefined if it has none
 * @param isWhole false: at most eight of each way, evenly spread over every list
 */
export function* productOf(
  model: ListedModel,
  way: ListedWay,
  uploads: Uploads,
  { ratioField, isWhole }: { readonly ratioField: string | undefined; readonly isWhole: boolean },
): Generator<Body> {
  const named = way.sizes.filter((size) => model.resolutions.includes(size));
  const inField = ratioField === undefined ? [] : way.fieldRatios.map((ratio) => at(ratioField, ratio));
  const frames: readonly Body[] = [
    {},
    ...[...way.sizes, ...way.ratios.map(toFrame)].map((size) => ({ size })),
    ...inField,
    ...named.flatMap((size) => inField.map((ratio) => ({ ...ratio, size }))),
  ];
  const lists: readonly (readonly Body[])[] = [
    (['min', 'max'] as const).map((counts) => ({ inputs: inputsOf(way, uploads, counts) })),
    [{}, ...(way.seconds ?? []).map((seconds) => ({ seconds: String(seconds) }))],
    frames,
    [{}, ...model.modes.map((mode) => ({ mode }))],
  ];
  const one = { model: model.id, prompt: 'a paper boat in the rain', operation: way.operation };
  if (!isWhole) {
    const longest = Math.max(...lists.map(({ length }) => length));
    const count = Math.min(longest, MAX_SAMPLE);
    for (let index = 0; index < count; index += 1) {
      const choices = lists.map((list) => {
        const step = Math.max(1, list.length / count);
        // One further each time round, so that short lists do not stay in step.
        return list[Math.floor(index * step + index / list.length) % list.length];
      });
      yield Object.assign({}, one, ...choices) as Body;
    }
    return;
  }
  const total = lists.reduce((product, { length }) => product * length, 1);
  for (let index = 0; index < total; index += 1) {
    let rest = index;
    const choices = lists.map((list) => {
      const choice = list[rest % list.length];
      rest = Math.floor(rest / list.length);
      return choice;
    });
    yield Object.assign({}, one, ...choices) as Body;
  }
}

const MAX_SAMPLE = 8;

type Random = () => number;
const pick = <T>(random: Random, list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];

/** A body of one way, with a random choice of what the model lists for it. */
export function listedBody(
  model: ListedModel,
  way: ListedWay,
  uploads: Uploads,
  { random, counts }: { readonly random: Random; readonly counts: 'min' | 'max' | Random },
): Body {
  const sizes = [...way.sizes, ...way.ratios.map(toFrame), undefined];
  const [seconds, size, mode] = [
    pick(random, [...(way.seconds ?? []), undefined]),
    pick(random, sizes),
    pick(random, [...model.modes, undefined]),
  ];
  return {
    model: model.id,
    prompt: 'a paper boat in the rain',
    operation: way.operation,
    inputs: inputsOf(way, uploads, counts),
    ...(seconds === undefined ? {} : { seconds: String(seconds) }),
    ...(size === undefined ? {} : { size }),
    ...(mode === undefined ? {} : { mode }),
  };
}

/** Whether inputs go together in a way. */
const takes = ({ kinds }: ListedWay, inputs: readonly Body[]): boolean => {
  const of =
    ({ type, role }: Pick<Kind, 'type' | 'role'>) =>
    (each: Body) =>
      each.type === type && each.role === role;
  const areCounted = kinds.every((kind) => {
    const count = inputs.filter(of(kind)).length;
    return count >= kind.min && count <= kind.max;
  });
  return areCounted && inputs.every((each) => kinds.some((kind) => of(kind)(each)));
};

const TYPES = ['image', 'video', 'audio'] as const;
const ROLES = ['first_frame', 'last_frame', 'keyframe', 'reference', 'source', 'voice', 'mask'] as const;

/**
 * Bodies that a model does not list, each with the field that an error must name.
 *
 * @param ratioField path of the vendor's own field for the ratio, undefined if it has none
 */
export function* unlistedBodies(
  model: ListedModel,
  uploads: Uploads,
  ratioField: string | undefined,
): Generator<readonly [Body, RegExp]> {
  const ways = waysOf(model);
  const operations = ['generate', 'edit', 'extend'].filter((each) => ways.every(({ operation }) => operation !== each));
  const one = { model: model.id, prompt: 'a paper boat in the rain' };
  const source = { type: 'video', role: 'source', file_id: uploads.video };
  for (const operation of operations) yield [{ ...one, operation, inputs: [source] }, /^model$|^inputs/];
  for (const way of ways) {
    const body = { ...one, operation: way.operation, inputs: inputsOf(way, uploads, 'min') };
    for (const seconds of [3_599, ...(way.seconds === undefined ? [5] : [])])
      yield [{ ...body, seconds: String(seconds) }, /^(duration|seconds)$/];
    if (model.resolutions.length + model.sizes.length > 0) yield [{ ...body, size: '16k' }, /^size$/];
    yield [{ ...body, mode: 'no-such-mode' }, /^mode$/];
    // The same inputs may fit several ways, of which each lists something.
    const alike = ways.filter((other) => other.operation === way.operation && takes(other, body.inputs));
    for (const ratio of ratioField === undefined ? [] : ['5:3', '16:9'])
      if (alike.every(({ fieldRatios }) => !fieldRatios.includes(ratio)))
        yield [{ ...body, ...at(ratioField ?? '', ratio) }, /^metadata\.\w*ratio$/i];
    for (const size of model.sizes.filter(isFrame))
      if (alike.every(({ sizes }) => sizes.some(isFrame) && !sizes.includes(size))) yield [{ ...body, size }, /^size$/];
    const known = ways.filter(({ operation }) => operation === way.operation).flatMap(({ kinds }) => kinds);
    for (const type of TYPES)
      for (const role of ROLES) {
        if (known.some((kind) => kind.type === type && kind.role === role)) continue;
        const stray = { type, role, file_id: uploads[type], ...(role === 'keyframe' ? { at: 0.5 } : {}) };
        yield [{ ...body, inputs: [...body.inputs, stray] }, /^inputs/];
      }
    for (const kind of way.kinds) {
      const most = Math.max(
        ...known.filter((each) => each.type === kind.type && each.role === kind.role).map(({ max }) => max),
      );
      const { type, role } = kind;
      const many = Array.from({ length: most + 1 }, (_, at) => ({
        type,
        role,
        file_id: uploads[type],
        ...(role === 'keyframe' ? { at: (at + 1) / 8 } : {}),
      }));
      const others = body.inputs.filter((each) => each.type !== type || each.role !== role);
      yield [{ ...body, inputs: [...others, ...many] }, /^inputs/];
    }
  }
}
