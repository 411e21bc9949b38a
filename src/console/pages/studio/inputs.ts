import {
  fits,
  type GenerationWay,
  type InputKind,
  type InputRole,
  type InputRule,
  type InputType,
  inputRules,
  type VideoOperation,
} from '../../../contract/generation-ways.ts';
import { defined } from '../../../contract/objects.ts';
import type { UsableModel } from '../../data/self.ts';

/** An image, video or audio file of the form. */
export interface DraftInput extends InputKind {
  /** Identifies the input in the form only. */
  readonly key: string;
  /** File name or URL. */
  readonly name: string;
  /** Seconds from the start, of a keyframe. */
  readonly at?: number | undefined;
  /** Size of the file; undefined if unknown. */
  readonly bytes?: number | undefined;
  /** Uploaded file, video of this service, or URL; undefined during the upload. */
  readonly source?: InputSource;
}
/** `data`: a data URL, where the service stores no files. */
export type InputSource = { readonly file_id: string } | { readonly url: string } | { readonly data: string };

/** Reason why an input cannot be used with the model. */
export type InputProblem =
  | { readonly kind: 'role' | 'together' | 'at' }
  | { readonly kind: 'count'; readonly max: number }
  | { readonly kind: 'bytes'; readonly maxBytes: number };

/** Reason why the inputs of a form cannot be used. */
export interface InputCheck {
  /** By the key of the input. */
  readonly problems: ReadonlyMap<string, InputProblem>;
  /** Inputs that would complete the nearest combination. */
  readonly missing: readonly InputRule[];
}

type UsedModel = Pick<UsableModel, 'capability'> | undefined;

/** Combinations of inputs a model takes for an operation; undefined if they are unknown. */
export function waysFor(model: UsedModel, operation: VideoOperation): readonly GenerationWay[] | undefined {
  const ways = model?.capability?.ways;
  if (ways === undefined || ways.length === 0) return undefined;
  return ways.filter((way) => way.operation === operation);
}

/** Roles offered for a type where the combinations are unknown. */
const USUAL_ROLES: Readonly<Record<InputType, readonly InputRole[]>> = {
  image: ['first_frame', 'last_frame', 'reference'],
  video: ['reference'],
  audio: ['reference', 'voice'],
};

/** Roles a model takes for a type of input. */
export function rolesFor(model: UsedModel, operation: VideoOperation, type: InputType): readonly InputRole[] {
  const ways = waysFor(model, operation);
  if (ways === undefined) return operation === 'generate' || type !== 'video' ? USUAL_ROLES[type] : ['source'];
  return inputRules(ways)
    .filter((rule) => rule.type === type)
    .map(({ role }) => role);
}

const ruleFor = (way: GenerationWay, { type, role }: InputKind): InputRule | undefined =>
  way.inputs.find((rule) => rule.type === type && rule.role === role);

/** Whether a combination accepts all of the inputs. */
const isPartOf = (way: GenerationWay, inputs: readonly InputKind[]): boolean =>
  coveredBy(way, inputs).length === inputs.length;

/** The inputs that a combination accepts, in order. */
function coveredBy<T extends InputKind>(way: GenerationWay, inputs: readonly T[]): readonly T[] {
  const taken: T[] = [];
  for (const input of inputs) {
    const count = taken.filter(({ type, role }) => type === input.type && role === input.role).length;
    const isFull = taken.length >= (way.maxInputs ?? Number.POSITIVE_INFINITY);
    if (!isFull && count < (ruleFor(way, input)?.max ?? 0)) taken.push(input);
  }
  return taken;
}

/**
 * Adds an input in the first role that leaves a possible combination. If there is none, all inputs become references,
 * because a third image is no frame.
 */
export function addInput(
  inputs: readonly DraftInput[],
  added: Omit<DraftInput, 'role'>,
  model: UsedModel,
  operation: VideoOperation,
): readonly DraftInput[] {
  const roles = rolesFor(model, operation, added.type);
  const ways = waysFor(model, operation);
  const isPossible = (all: readonly DraftInput[]): boolean =>
    ways === undefined ? isUsual(all) : ways.some((way) => isPartOf(way, all));
  const role = roles.find((each) => isPossible([...inputs, { ...added, role: each }]));
  if (role !== undefined) return [...inputs, { ...added, role }];
  const asReferences = [...inputs, { ...added, role: 'reference' as const }].map((input) =>
    input.role !== 'source' && rolesFor(model, operation, input.type).includes('reference')
      ? { ...input, role: 'reference' as const }
      : input,
  );
  if (isPossible(asReferences)) return asReferences;
  // More inputs than the model accepts: the check of the inputs explains it.
  const same = inputs.findLast(({ type, role }) => type === added.type && roles.includes(role));
  return [...inputs, { ...added, role: same?.role ?? roles[0] ?? USUAL_ROLES[added.type][0] ?? 'reference' }];
}

/** Without known combinations: at most one input per frame. */
const isUsual = (inputs: readonly InputKind[]): boolean =>
  (['first_frame', 'last_frame', 'source'] as const).every(
    (frame) => inputs.filter(({ role }) => role === frame).length <= 1,
  );

/** Combinations the inputs fit, or may still become; all of them if there is none. */
export function possibleWays(
  model: UsedModel,
  operation: VideoOperation,
  inputs: readonly InputKind[],
): readonly GenerationWay[] {
  const ways = waysFor(model, operation) ?? [];
  const complete = ways.filter((way) => fits(way, inputs));
  if (complete.length > 0) return complete;
  const begun = ways.filter((way) => isPartOf(way, inputs));
  return begun.length > 0 ? begun : ways;
}

/** Checks the inputs of a form against the model's combinations, like the service. */
export function checkInputs(model: UsedModel, operation: VideoOperation, inputs: readonly DraftInput[]): InputCheck {
  const ways = waysFor(model, operation);
  const problems = new Map<string, InputProblem>();
  for (const { key, role, at } of inputs)
    if (role === 'keyframe' && at === undefined) problems.set(key, { kind: 'at' });
  if (ways === undefined) return { problems, missing: [] };
  const rules = inputRules(ways);
  for (const [index, input] of inputs.entries()) {
    const rule = rules.find(({ type, role }) => type === input.type && role === input.role);
    const earlier = inputs.slice(0, index).filter(({ type, role }) => type === input.type && role === input.role);
    if (rule === undefined) problems.set(input.key, { kind: 'role' });
    else if (earlier.length >= rule.max) problems.set(input.key, { kind: 'count', max: rule.max });
    else if (input.bytes !== undefined && input.bytes > rule.maxBytes)
      problems.set(input.key, { kind: 'bytes', maxBytes: rule.maxBytes });
  }
  if (problems.size > 0 || ways.some((way) => fits(way, inputs))) return { problems, missing: [] };
  const begun = ways.find((way) => isPartOf(way, inputs));
  if (begun !== undefined)
    return { problems, missing: begun.inputs.filter((rule) => countOf(inputs, rule) < rule.min) };
  const best = ways.reduce<readonly DraftInput[]>((most, way) => {
    const covered = coveredBy(way, inputs);
    return covered.length > most.length ? covered : most;
  }, []);
  for (const input of inputs) if (!best.includes(input)) problems.set(input.key, { kind: 'together' });
  return { problems, missing: [] };
}

const countOf = (inputs: readonly InputKind[], rule: InputKind): number =>
  inputs.filter(({ type, role }) => type === rule.type && role === rule.role).length;

/** Inputs in the form of a request; those still being uploaded are omitted. */
export const toRequestInputs = (inputs: readonly DraftInput[]): readonly object[] =>
  inputs.flatMap(({ type, role, at, source }) =>
    source === undefined ? [] : [defined({ type, role, at: role === 'keyframe' ? at : undefined, ...source })],
  );

/** Moves an input to another position of the list. */
export function moveInput(inputs: readonly DraftInput[], key: string, to: number): readonly DraftInput[] {
  const moved = inputs.find((input) => input.key === key);
  if (moved === undefined) return inputs;
  const others = inputs.filter((input) => input !== moved);
  return others.toSpliced(Math.min(Math.max(to, 0), others.length), 0, moved);
}

/** Number of an input among those of its type, by which a prompt names it. */
export const numberOf = (inputs: readonly DraftInput[], input: DraftInput): number =>
  inputs.filter(({ type }) => type === input.type).indexOf(input) + 1;

/** Name of an input in a prompt: `@Image1`. */
export const promptNameOf = (inputs: readonly DraftInput[], input: DraftInput): string =>
  `@${input.type.slice(0, 1).toUpperCase()}${input.type.slice(1)}${numberOf(inputs, input)}`;
